# One Makefile for everything; `make help` lists the targets. Reading it runs no compiler and no
# other tool, so that `make demo` and `make test` can start on a bare machine (tools/setup.sh).
VERSION := 0.2.0
DATE    := 2026-11-18
SONAME  := libastra.so.$(firstword $(subst ., ,$(VERSION)))
PREFIX  ?= /usr/local
FUZZ_SECONDS ?= 30
# What `make fit` learns from, and where the models go.
PROFILES ?= data/measured/h200_operators.csv $(wildcard data/measured/h200_operators_[0-9].csv)
SOURCES  ?=
INTO     ?= $(BUILD)/models
PLOTS    ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
HOSTCC  ?= $(CC)
OBJCOPY ?= objcopy
# The system's, which finds what tools/setup.sh installs.
PYTHON  ?= /usr/bin/python3
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wvla -Werror
LIBS    := -ljansson -lyaml -lm -pthread
INCLUDE := -Iinclude -Isrc
HOSTED  := -fPIC -pthread
# libxgboost trains the learned models and judges their tables in tests; the program does without.
FIT_LIBS := -lxgboost
SHARED  := -shared -Wl,-soname,$(SONAME)

# Variants build in a folder of their own; libFuzzer and sanitizers leave symbols open in a library.
BUILD   ?= build
ifeq ($(SAN),1)
BUILD   := build/san
VARIANT := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
else ifeq ($(FUZZ),1)
BUILD   := build/fuzz
VARIANT := -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer \
           -fno-sanitize-recover=all
else
SHARED  += -Wl,-z,defs
endif

COMPILE = $(CC) -std=c17 $(WARN) $(INCLUDE) -DASTRA_VERSION='"$(VERSION)"' \
          -DASTRA_DATE='"$(DATE)"' -fvisibility=hidden $(HOSTED) $(VARIANT) $(STAMP) $(CPPFLAGS) $(CFLAGS)
LINK    = $(CC) $(VARIANT) $(LDFLAGS)

# Data files of these kinds are compiled in: data/models/a-1b.json becomes the array
# embedded_models_a_1b_json. So are pieces of shell that completions are made of.
SRC     := $(wildcard src/*.c src/*/*.c src/*/*/*.c)
DATA    := $(sort $(wildcard data/models/*.json data/rules/*.rules data/efficiency/*.* \
           data/prices.csv data/price_overrides.csv))
# So are those that `astra verify` runs; batch.py is for many ranks at once.
HARNESS := $(sort $(filter-out tools/rank/batch.py,$(wildcard tools/rank/*.py)) \
           tools/profile/sensor.py)
# Trees of the learned models: a program of this build turns them into C, once for all variants.
TREES   := $(patsubst data/efficiency/%.ubj,%,$(wildcard data/efficiency/*.ubj))
BASE_C  := $(patsubst %,src/base/%.c,arena caret error file confine str)
TREES_C := tools/trees/trees_to_c.c $(patsubst %,src/cost/%.c,trees tree_file) \
           src/base/ubjson.c $(BASE_C)
LIB_OBJ := $(SRC:%.c=$(BUILD)/%.o) $(DATA:%=$(BUILD)/%.o) $(TREES:%=$(BUILD)/trees/%.o) \
           $(BUILD)/tools/harness.o $(BUILD)/page/page.o
SCRIPTS := $(wildcard cli/*.bash cli/*.zsh)
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c)) $(SCRIPTS:%=$(BUILD)/%.o)
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
REPLAY  := $(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/replay/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZERS := $(REPLAY:$(BUILD)/replay/%=$(BUILD)/fuzz_%)
EXAMPLE := $(patsubst examples/%.c,$(BUILD)/example-%,$(wildcard examples/*.c))
FIT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/fit/*.c))
C_DIRS  := include src src/* src/*/* cli tests tests/unit tests/fuzz bench tools/* examples
TREE_C  := $(wildcard $(C_DIRS:%=%/*.[ch]))
WEB_C   := $(wildcard web/*.c) # by Emscripten alone

# What has to be installed, checked once per clean tree (tools/setup.sh has the sets). A plain `make`
# only says what is missing; targets that promise to work on a bare machine install it.
BASE        := $(if $(findstring clang,$(CC)),clang,build)
SETUP        = CC='$(CC)' PYTHON='$(PYTHON)' sh tools/setup.sh
SETUP_FLAGS := --check
demo test unit cases golden laws fuzz-run valgrind mutants optimum bench accuracy step-errors verification experts first-plans mixed fit: SETUP_FLAGS :=
format format-check lint slurm mcp browser web site python wheel static static-test aarch64 aarch64-test deb deb-test release: SETUP_FLAGS :=

# What threads of libgomp hold when the program ends counts as possibly lost.
VALGRIND  = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite

RUN_TESTS = BUILD='$(BUILD)' VERSION='$(VERSION)' CC='$(CC)' LDFLAGS='$(VARIANT) $(LDFLAGS)' \
            LIBS='$(LIBS)' sh tests/run_cases.sh
INSTALL   = BUILD='$(BUILD)' VERSION='$(VERSION)' LIBS='$(LIBS)' PREFIX='$(PREFIX)' \
            DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' sh tools/install.sh

# One short line per step; V=1 shows the commands.
ifneq ($(V),1)
Q       := @
say      = @printf '  %-6s %s\n' '$(1)' '$(2)'
endif

all: $(BUILD)/astra $(BUILD)/libastra.a $(BUILD)/libastra.so ## build program and libraries

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
	    printf '  make %-13s %s\n' "$$name" "$$text"; done
	@echo '  SAN=1: with address and undefined-behaviour sanitizers; CC=clang; V=1: show commands;'
	@echo '  PREFIX=/usr/local DESTDIR=: where to install; FUZZ_SECONDS=30: per fuzz target'

setup: ## install what building and testing need (Debian, Ubuntu)
	@$(SETUP) $(BASE) test

demo: $(BUILD)/astra ## build, then plan Llama 3 70B on 512 H100
	@echo '$$ astra search --model llama3-70b --cluster 64x8:H100 --report $(BUILD)/demo.html'
	@$(BUILD)/astra search --model llama3-70b --cluster 64x8:H100 --report $(BUILD)/demo.html
	@echo; echo 'The same as a page with charts: $(abspath $(BUILD)/demo.html)'

test: programs | build/setup/test ## build and run every test
	@$(RUN_TESTS) unit seeds bad golden cli

programs: all $(BUILD)/fit $(UNIT) $(REPLAY) $(EXAMPLE)

unit: $(UNIT) ## run the unit tests alone
	@$(RUN_TESTS) unit

cases: all | build/setup/test ## run tests/bad, tests/golden and tests/cli alone
	@$(RUN_TESTS) bad golden cli

golden: $(BUILD)/astra ## rewrite tests/golden, tests/bad and doc/cast.svg from what the program prints now
	@$(RUN_TESTS) rewrite
	@ASTRA=$(BUILD)/astra sh tools/cast.sh doc/cast.svg
cast: $(BUILD)/astra ## the terminal cast of the README alone: doc/cast.svg
	@ASTRA=$(BUILD)/astra sh tools/cast.sh doc/cast.svg

valgrind: $(BUILD)/astra $(UNIT) $(REPLAY) | build/setup/valgrind ## run tests under valgrind
	@OMP_NUM_THREADS=1 LIMIT_S=600 RUNNER='$(VALGRIND)' $(RUN_TESTS) unit seeds bad

fuzz: ## run every fuzz target for FUZZ_SECONDS; what it finds becomes a seed in tests/fuzz/seeds
	+@$(MAKE) --no-print-directory FUZZ=1 CC=$(if $(findstring clang,$(CC)),$(CC),clang) fuzz-run
fuzz-run: $(FUZZERS)
	@BUILD='$(BUILD)' FUZZ_SECONDS='$(FUZZ_SECONDS)' sh tools/fuzz.sh

mutants: programs | build/setup/test ## which tests notice random faults: SEED=1 FAULTS=60 MINUTES=60
	@SEED='$(SEED)' FAULTS='$(FAULTS)' MINUTES='$(MINUTES)' $(RUN_TESTS:tests/run_cases.sh=tools/mutants.sh)

optimum: $(BUILD)/unit/test_search $(BUILD)/unit/test_mixed $(BUILD)/unit/test_money_search $(BUILD)/bench-neighbours ## hold searches to brute force
	@$(BUILD)/unit/test_search 60
	@$(BUILD)/unit/test_mixed 500
	@$(BUILD)/unit/test_money_search 1000
	@$(BUILD)/bench-neighbours
laws: $(BUILD)/unit/test_placement $(BUILD)/unit/test_laws ## laws on 1,000 random questions, placement of 400 searches: 20 minutes
	@$(BUILD)/unit/test_placement 400
	@$(BUILD)/unit/test_laws 1000
bench: $(BUILD)/astra $(BUILD)/bench-questions $(BUILD)/bench-speed $(BUILD)/bench-mixed_speed $(BUILD)/bench-money_speed $(BUILD)/bench-log_speed ## measure the search, reading of logs
	@$(BUILD)/bench-questions $(BUILD)/astra $(BUILD)/questions.svg
	@$(BUILD)/bench-speed
	@$(BUILD)/bench-mixed_speed
	@$(BUILD)/bench-money_speed
	@$(BUILD)/bench-log_speed
accuracy: $(BUILD)/bench-accuracy $(BUILD)/bench-trees_judge ## compare predictions with measurements: doc/evidence/accuracy.md and its pictures
	@$(BUILD)/bench-trees_judge
	@$< --pictures doc/evidence/pictures > $(BUILD)/accuracy.txt || { cat $(BUILD)/accuracy.txt; exit 2; }
	@cat $(BUILD)/accuracy.txt
	@sh tools/fill_block.sh doc/evidence/accuracy.md accuracy $(BUILD)/accuracy.txt
step-errors: $(BUILD)/bench-accuracy ## write the table behind expected_error anew: data/efficiency/step_errors.csv
	@$< --step-errors data/efficiency/step_errors.csv
verification: $(BUILD)/astra $(BUILD)/bench-calibrate_sites ## compare predictions with plans that ran on a GPU: doc/evidence/verification.md
	@ASTRA=$(BUILD)/astra sh tools/verification.sh
	@$(BUILD)/bench-calibrate_sites > $(BUILD)/calibrate_sites.txt
	@cat $(BUILD)/calibrate_sites.txt
	@sh tools/fill_block.sh doc/evidence/calibrate.md sites $(BUILD)/calibrate_sites.txt
experts: $(BUILD)/bench-experts ## compare published plans with what a search finds: doc/evidence/experts.md
	@$< > $(BUILD)/experts.txt; code=$$?; cat $(BUILD)/experts.txt; [ $$code -le 1 ] || exit $$code; \
	    sh tools/fill_block.sh doc/evidence/experts.md experts $(BUILD)/experts.txt; exit $$code
first-plans: $(BUILD)/astra ## ask forty questions, write their first plans into doc/evidence/first-plans.md
	@ASTRA=$(BUILD)/astra sh bench/first_plans.sh doc/evidence/first-plans.md
mixed: $(BUILD)/bench-mixed_gains ## what mixed pools gain: the table of doc/evidence/mixed.md
	@$<
fit: $(BUILD)/fit ## learn all models anew: PROFILES= SOURCES= INTO= PLOTS=, doc/operators.md
	@$< $(PROFILES) --into '$(INTO)' $(SOURCES:%=--sources '%') $(PLOTS:%=--plots '%')

slurm: $(BUILD)/astra | build/setup/slurm ## run exported job scripts on a real Slurm, on loopback
	@ASTRA='$(abspath $(BUILD)/astra)' sh tests/slurm/run.sh

mcp: $(BUILD)/astra | build/setup/mcp ## test `astra mcp` with the protocol's own client
	@ASTRA='$(abspath $(BUILD)/astra)' MCP_DIR='$(abspath $(BUILD)/mcp)' sh tests/mcp/run.sh

browser: $(BUILD)/astra web | build/setup/browser ## test reports, the planner's page and the manual in Chromium and Firefox
	+@$(MAKE) --no-print-directory site
	@ASTRA='$(abspath $(BUILD)/astra)' node tests/web/same_answers.mjs $(WASM)/engine.js tests/web/questions.txt
	@SITE='$(abspath build/site)' WEB='$(abspath build/web)' ASTRA='$(abspath $(BUILD)/astra)' BROWSER_DIR='$(abspath $(BUILD)/browser)' sh tests/browser/run.sh

web: | build/setup/$(BASE) build/setup/web ## the planner as a page for any static file server: build/web
	@sh tools/wasm_libraries.sh $(WASM)/libs
	+@$(FOR_WASM) $(WASM)/engine.js
	@VERSION='$(VERSION)' DATE='$(DATE)' sh tools/web.sh $(WASM) build/web

site: | build/setup/site ## the manual as pages that open from disk, the planner with it if it was made: build/site
	@VERSION='$(VERSION)' DATE='$(DATE)' sh tools/site.sh build/site build/web

python: $(BUILD)/python/made $(BUILD)/wheel/made $(BUILD)/astra | build/setup/python ## test the Python package, its wheel and its notebook
	@ASTRA='$(abspath $(BUILD)/astra)' PYTHON='$(PYTHON)' STAGED='$(abspath $(BUILD)/python)' \
	    WHEELS='$(abspath $(BUILD)/wheel)' sh tests/python/run.sh
wheel: $(BUILD)/wheel/made ## write a wheel of the Python package, with library and program, to build/wheel
	@ls $(BUILD)/wheel/*.whl

static: $(BUILD)/static/astra ## one program that needs no library, for any Linux of this architecture
	@ls -l $<
static-test: $(BUILD)/static/astra | build/setup/test ## run the static program in an empty root, and the cases with it
	@sh tests/static/empty_root.sh $<
	@ASTRA='$<' $(RUN_TESTS) bad golden
aarch64: | build/setup/$(BASE) build/setup/aarch64 ## the same for 64-bit ARM: build/aarch64/static/astra
	@sh tools/debian_libraries.sh arm64 $(ARM)/root
	+@$(FOR_ARM) static
aarch64-test: aarch64 $(BUILD)/astra ## compare its answers under qemu with this machine's, run the cases with it
	@EMULATOR=qemu-aarch64-static sh tests/static/empty_root.sh $(ARM)/static/astra
	@EMULATOR=qemu-aarch64-static sh tests/static/same_answers.sh $(ARM)/static/astra $(BUILD)/astra
	@ASTRA='$(ARM)/static/astra' RUNNER=qemu-aarch64-static LIMIT_S=600 $(RUN_TESTS) bad golden

deb: | build/setup/$(BASE) build/setup/deb ## write Debian packages of program, library and Python to build/deb
	@CC='$(CC)' VERSION='$(VERSION)' DATE='$(DATE)' sh tools/deb.sh build/deb
deb-test: deb | build/setup/deb-test ## lint them; install, use and remove them in a bare Debian
	@sh tests/deb/run.sh build/deb

dist: ## write the sources of the last commit to build/dist, the same bytes every time
	@rm -rf build/dist
	@VERSION='$(VERSION)' sh tools/dist.sh build/dist
	@sh tools/sums.sh build/dist
	@cat build/dist/SHA256SUMS
release: static aarch64 wheel deb ## the same with static programs, wheel and packages
	@rm -rf build/dist
	@VERSION='$(VERSION)' sh tools/dist.sh build/dist
	@cp $(BUILD)/static/astra build/dist/astra-$(VERSION)-linux-$$(uname -m)
	@cp $(ARM)/static/astra build/dist/astra-$(VERSION)-linux-aarch64
	@cp $(BUILD)/wheel/*.whl $$(ls build/deb/*.deb | grep -v dbgsym) build/dist
	@sh tools/sums.sh build/dist
	@ls -l build/dist

format: | build/setup/format ## rewrite the C sources in the style of .clang-format
	$(Q)clang-format -i $(TREE_C) $(WEB_C)
format-check: | build/setup/format ## list what `make format` would change
	@clang-format --dry-run --Werror $(TREE_C) $(WEB_C)
lint: | build/setup/lint ## check layout, warnings, the order of rooms, spelling; builds nothing
	@WARN='$(WARN)' INCLUDE='$(INCLUDE)' FILES='$(TREE_C)' sh tools/lint.sh

install: all ## install under PREFIX (and DESTDIR)
	@$(INSTALL)
uninstall: ## remove what `make install` put there
	@$(INSTALL) --remove

clean: ## remove everything that was built
	rm -rf build

# Files whose time changes only when their text does: other flags or objects make it built again.
$(BUILD)/flags: text = $(COMPILE)
$(BUILD)/objects: text = $(LIB_OBJ) $(CLI_OBJ) $(HARNESS)
$(BUILD)/flags $(BUILD)/objects: FORCE
	@mkdir -p $(@D)
	@text='$(subst ','\'',$(text))'; [ "$$text" = "$$(cat $@ 2>&1)" ] || printf '%s\n' "$$text" > $@

# What `astra --version` says beside the version.
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@text=$$(sh tools/commit.sh); [ -e $@ ] && [ "$$text" = "$$(cat $@)" ] || printf '%s\n' "$$text" > $@
$(BUILD)/cli/main.o: $(BUILD)/commit
$(BUILD)/cli/main.o: private STAMP = -DASTRA_COMMIT="\"$$(cat $(BUILD)/commit)\""

build/setup/%: tools/setup.sh
	@$(SETUP) $(SETUP_FLAGS) $*
	@mkdir -p $(@D) && touch $@
build/setup/test build/setup/fit: | build/setup/$(BASE)
build/setup/valgrind build/setup/lint: | build/setup/test

$(BUILD)/%.o: %.c $(BUILD)/flags | build/setup/$(BASE)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@
# Files of the learned models are packed: `astra fit` alone needs them.
build/host/lz_pack: tools/lz/lz_pack.c $(BASE_C) $(wildcard src/base/*.h) | build/setup/$(BASE)
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)
	$(Q)$(HOSTCC) -std=c17 $(WARN) -Isrc -O2 -o $@ tools/lz/lz_pack.c $(BASE_C)
$(TREES:%=build/packed/%.lz): build/packed/%.lz: data/efficiency/%.ubj build/host/lz_pack
	@mkdir -p $(@D)
	$(Q)build/host/lz_pack $< > $@
$(TREES:%=$(BUILD)/data/efficiency/%.ubj.c): $(BUILD)/data/efficiency/%.ubj.c: build/packed/%.lz tools/embed.sh
	@mkdir -p $(@D)
	$(Q)sh tools/embed.sh $< efficiency/$*.ubj > $@
PLAIN   := $(filter-out %.ubj,$(DATA)) $(SCRIPTS)
$(PLAIN:%=$(BUILD)/%.c): $(BUILD)/%.c: % tools/embed.sh
	@mkdir -p $(@D)
	$(Q)sh tools/embed.sh $< > $@
$(DATA:%=$(BUILD)/%.o) $(SCRIPTS:%=$(BUILD)/%.o): $(BUILD)/%.o: $(BUILD)/%.c $(BUILD)/flags | build/setup/$(BASE)
	$(call say,EMBED,$(<:$(BUILD)/%.c=%))
	$(Q)$(COMPILE) -c $< -o $@
build/host/trees_to_c: $(TREES_C) src/cost/trees.h $(wildcard src/base/*.h) | build/setup/$(BASE)
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)
	$(Q)$(HOSTCC) -std=c17 $(WARN) -Isrc -O2 -o $@ $(TREES_C)
$(TREES:%=build/trees/%.c): build/trees/%.c: data/efficiency/%.ubj build/host/trees_to_c
	@mkdir -p $(@D)
	$(Q)build/host/trees_to_c $< > $@
$(TREES:%=$(BUILD)/trees/%.o): $(BUILD)/trees/%.o: build/trees/%.c src/cost/trees.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,TREES,data/efficiency/$*.ubj)
	$(Q)$(COMPILE) -c $< -o $@
$(BUILD)/tools/harness.c: $(HARNESS) tools/embed.sh tools/embed_harness.sh $(BUILD)/objects
	@mkdir -p $(@D)
	$(Q)sh tools/embed_harness.sh $(HARNESS) > $@
$(BUILD)/tools/harness.o: $(BUILD)/tools/harness.c $(BUILD)/flags | build/setup/$(BASE)
	$(call say,EMBED,$(HARNESS))
	$(Q)$(COMPILE) -c $< -o $@
$(BUILD)/page/page.html: $(wildcard data/page/*.*) tools/embed_page.sh
	@mkdir -p $(@D)
	$(Q)sh tools/embed_page.sh data/page/page.html > $@
$(BUILD)/page/page.c: $(BUILD)/page/page.html tools/embed.sh
	$(Q)sh tools/embed.sh $< page.html > $@
$(BUILD)/page/page.o: $(BUILD)/page/page.c $(BUILD)/flags | build/setup/$(BASE)
	$(call say,EMBED,data/page)
	$(Q)$(COMPILE) -c $< -o $@
# Outsiders of the library see include/ alone.
$(CLI_OBJ) $(EXAMPLE:$(BUILD)/example-%=$(BUILD)/examples/%.o): private INCLUDE := -Iinclude
$(UNIT:$(BUILD)/unit/%=$(BUILD)/tests/unit/%.o) $(patsubst %,$(BUILD)/bench/%.o,accuracy calibrate_sites experts mixed_gains mixed_speed neighbours questions speed trees_judge): \
    private INCLUDE += -Itests
FIT_TESTS := $(patsubst %,$(BUILD)/unit/test_%,comm_fit fit sample trees)
$(FIT_OBJ) $(FIT_TESTS:$(BUILD)/unit/%=$(BUILD)/tests/unit/%.o) $(BUILD)/bench/trees_judge.o: private INCLUDE += -Itools
$(UNIT:$(BUILD)/unit/%=$(BUILD)/tests/unit/%.o): | build/setup/test
$(FIT_OBJ): | build/setup/fit

# The archive holds one object in which everything hidden is local: it exports astra_* only.
$(BUILD)/prelinked.o: $(LIB_OBJ) $(BUILD)/objects
	$(Q)$(LD) -r -o $@ $(LIB_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $@
$(BUILD)/libastra.a: $(BUILD)/prelinked.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $<
$(BUILD)/libastra.so: $(LIB_OBJ) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(LINK) $(SHARED) -o $@ $(LIB_OBJ) $(LIBS)
	$(Q)ln -sf libastra.so $(BUILD)/$(SONAME)
$(BUILD)/astra: $(CLI_OBJ) $(BUILD)/libastra.a $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(CLI_OBJ) $(BUILD)/libastra.a $(LIBS)
$(BUILD)/example-%: $(BUILD)/examples/%.o $(BUILD)/libastra.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $^ $(LIBS)

# Nothing of it is looked for at run time: no user names, no locale but C's and its UTF-8, no iconv.
$(BUILD)/static/astra: $(CLI_OBJ) $(BUILD)/libastra.a $(BUILD)/objects
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -static -s -o $@ $(CLI_OBJ) $(BUILD)/libastra.a $(LIBS)
# Cross-built with Debian's compiler, and its jansson and libyaml.
ARM     := build/aarch64
CROSS   := aarch64-linux-gnu-
FOR_ARM  = $(MAKE) --no-print-directory BUILD=$(ARM) HOSTCC='$(CC)' \
           CC='$(strip $(filter ccache,$(CC)) $(CROSS)gcc)' LD=$(CROSS)ld AR=$(CROSS)ar \
           OBJCOPY=$(CROSS)objcopy CPPFLAGS=-I$(ARM)/root/usr/include \
           LDFLAGS=-L$(ARM)/root/usr/lib/aarch64-linux-gnu

# The page that plans in the browser: the library by Emscripten, with Debian's jansson and libyaml.
# The linker leaves out what the page does not ask for: fit with its files, verify, mcp.
WASM     := build/wasm
FOR_WASM  = NODE_PATH=/usr/share/nodejs $(MAKE) --no-print-directory BUILD=$(WASM) HOSTCC='$(CC)' CC=emcc HOSTED= \
            EMBED=array CPPFLAGS=-I$(WASM)/libs/include CFLAGS='-O3 -fdata-sections'
ENGINE_C := $(patsubst %,$(BUILD)/web/%.o,engine system)
COMMA    := ,
ENTRIES  := $(foreach f,set load_text search estimate explain improve export list_gpus list_models list_prices print script message names version,_astra_$f$(COMMA))
ENGINE   := -sMODULARIZE -sEXPORT_NAME=astraEngine -sENVIRONMENT=worker,node -sDYNAMIC_EXECUTION=0 --no-entry \
            -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=33554432 -sINCOMING_MODULE_JS_API=instantiateWasm,progress \
            -sEXPORTED_FUNCTIONS=$(subst $() $(),,$(ENTRIES))_web_new,_web_page,_astra_free,_malloc,_free \
            -sEXPORTED_RUNTIME_METHODS=FS,UTF8ToString,stringToUTF8,lengthBytesUTF8
$(BUILD)/engine.js: $(LIB_OBJ) $(ENGINE_C) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(CC) -O3 $(ENGINE) -o $@ $(LIB_OBJ) $(ENGINE_C) -L$(WASM)/libs/lib -ljansson -lyaml

# The Python package, put together in a folder; and with a library and a program that need nothing
# but the C library, as a wheel.
BINDING := $(wildcard bindings/python/*.* bindings/python/astra_planner/*.*)
OLDER   := $(BUILD)/tools/wheel/older_libc.o
BUNDLED  = -s -Wl,--wrap=hypot -Wl,--exclude-libs,ALL $(OLDER) \
           $(patsubst -ljansson,$(BUILD)/wheel/libjansson.a,$(patsubst -lyaml,-l:libyaml.a,$(LIBS)))
$(BUILD)/wheel/libjansson.a: | build/setup/$(BASE)
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --redefine-sym stdin=jansson_stdin "$$($(CC) -print-file-name=libjansson.a)" $@
$(BUILD)/python/made: $(BINDING) $(BUILD)/libastra.so | build/setup/wheel
	$(call say,STAGE,$(@D))
	$(Q)$(PYTHON) bindings/python/stage.py --version $(VERSION) --library $(BUILD)/libastra.so --into $(@D)
	$(Q)touch $@
$(BUILD)/wheel/libastra.so: $(LIB_OBJ) $(BUILD)/objects $(OLDER) $(BUILD)/wheel/libjansson.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) $(SHARED) -o $@ $(LIB_OBJ) $(BUNDLED)
$(BUILD)/wheel/astra: $(CLI_OBJ) $(BUILD)/libastra.a $(BUILD)/objects $(OLDER) $(BUILD)/wheel/libjansson.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(CLI_OBJ) $(BUILD)/libastra.a $(BUNDLED)
$(BUILD)/wheel/made: $(BINDING) $(BUILD)/wheel/libastra.so $(BUILD)/wheel/astra LICENSE | build/setup/wheel
	$(Q)$(PYTHON) -B bindings/python/wheel.py --version $(VERSION) --date $(DATE) \
	    --library $(BUILD)/wheel/libastra.so --program $(BUILD)/wheel/astra --into $(@D)
	$(Q)touch $@

# Tests and benchmarks look inside: they link the objects.
$(FIT_TESTS): $(filter-out %/main.o,$(FIT_OBJ))
$(BUILD)/bench-trees_judge: $(BUILD)/tools/fit/booster.o
$(FIT_TESTS) $(BUILD)/bench-trees_judge $(BUILD)/fit: private LIBS += $(FIT_LIBS)
$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(LIB_OBJ) $(BUILD)/objects
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -lcmocka $(LIBS)
$(BUILD)/replay/%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o $(LIB_OBJ) \
                   $(BUILD)/objects
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB_OBJ) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/bench-accuracy: $(patsubst %,$(BUILD)/bench/accuracy_%.o,time runs errors picture rank memory golden hybrid)
$(BUILD)/bench-experts: $(patsubst %,$(BUILD)/bench/experts_%.o,inside source text)
$(BUILD)/bench-%: $(BUILD)/bench/%.o $(LIB_OBJ) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/fit: $(FIT_OBJ) $(LIB_OBJ) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIBS)

FORCE:
.PHONY: all help setup demo test programs unit cases golden laws valgrind fuzz fuzz-run mutants bench accuracy step-errors verification experts first-plans \
        mixed fit slurm mcp browser web python wheel static static-test aarch64 aarch64-test deb deb-test dist release \
        format format-check lint install uninstall clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
