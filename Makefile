# One Makefile for everything; `make help` lists the targets.
CC      ?= gcc
BUILD   ?= build
PREFIX  ?= /usr/local
VERSION := 0.1.0
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wvla -Werror
CFLAGS  ?= -O2 -g
CFLAGS  += -std=c17 $(WARN) -fvisibility=hidden -fPIC -MMD -MP -pthread
CPPFLAGS += -Iinclude -Isrc -DASTRA_VERSION='"$(VERSION)"'
LDLIBS  += -ljansson -lyaml -lm -pthread
ifdef SAN
BUILD   := build/san
CFLAGS  += -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS += -fsanitize=address,undefined
endif

SRC := $(wildcard src/*.c src/*/*.c)
CLI := $(wildcard cli/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI:%.c=$(BUILD)/%.o)
# data compiled into the library: data/models/llama3-8b.json -> array embedded_models_llama3_8b_json
DATA := $(sort $(wildcard data/models/*.json data/rules/*.rules))
DATA_OBJ := $(DATA:%=$(BUILD)/%.o)
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

all: $(BUILD)/astra $(BUILD)/libastra.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/data/%.c: data/% tools/embed.sh
	@mkdir -p $(@D)
	sh tools/embed.sh $< > $@
$(BUILD)/data/%.o: $(BUILD)/data/%.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/libastra.a: $(OBJ) $(DATA_OBJ)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/astra: $(CLI_OBJ) $(BUILD)/libastra.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/unit/%: tests/unit/%.c $(OBJ) $(DATA_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Itests/unit $< $(OBJ) $(DATA_OBJ) $(LDFLAGS) -o $@ -lcmocka $(LDLIBS)

unit: $(UNIT)
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done

test: unit

clean:
	rm -rf build

.PHONY: all unit test clean
.SECONDARY:
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
