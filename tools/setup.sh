#!/bin/sh
# Sees to it that what a task needs is installed: setup.sh [--check] SET...   (sets: table below)
# Silent when nothing is missing. Otherwise installs with apt-get, as root or through sudo; with
# --check, or where that cannot be, says what to install and stops with exit code 3. CC names the
# compiler, PYTHON the interpreter that modules are looked for in.
set -eu
CC=${CC:-gcc}
PYTHON=${PYTHON:-/usr/bin/python3}

# sets         probe                 Debian package
table='
build          compiler              gcc
clang          compiler              clang
clang          fuzzer_links          libclang-rt-dev
build,clang    command:objcopy       binutils
build,clang    header:stdio.h        libc6-dev
build,clang    header:jansson.h      libjansson-dev
build,clang    header:yaml.h         libyaml-dev
test,fit       header:xgboost/c_api.h libxgboost-dev
test           header:cmocka.h       libcmocka-dev
test           command:pkg-config    pkg-config
test           command:bash          bash
test,slurm     command:shellcheck    shellcheck
test,site      command:cmark-gfm     cmark-gfm
valgrind       command:valgrind      valgrind
valgrind       valgrind_runs         libc6-dbg
format,lint    command:clang-format  clang-format
lint           command:gcc           gcc
lint           command:clang         clang
lint           command:codespell     codespell
slurm          command:slurmctld     slurmctld
slurm          command:slurmd        slurmd
slurm          command:sbatch        slurm-client
slurm          command:munged        munge
test,slurm     command:jq            jq
browser        command:chromium      chromium
browser        command:firefox-esr   firefox-esr
browser,mcp,web command:node         nodejs
browser,mcp    command:npm           npm
browser        a_font                fonts-dejavu-core
python,wheel,deb interpreter         python3
python         module:ensurepip      python3-venv
python         module:nbclient       python3-nbclient
python         module:ipykernel      python3-ipykernel
python         module:pandas         python3-pandas
python         module:mypy           mypy
deb            command:dh            debhelper
deb            command:dh_python3    dh-python
deb            command:dpkg-buildpackage dpkg-dev
deb-test       command:lintian       lintian
deb-test       command:mmdebstrap    mmdebstrap
web            command:emcc          emscripten
web            acorn                 node-acorn
aarch64        command:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
aarch64        cross_links           libc6-dev-arm64-cross
aarch64        command:qemu-aarch64-static qemu-user-static
'

# Daemons lie in sbin, where a user's PATH need not lead.
have() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1; }
# CC may carry arguments or a wrapper ("ccache gcc"): its words are split on purpose.
compiler() { have "${CC%% *}"; }
# cmocka.h wants these four before it.
has_header() {
    printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h "$1" | $CC -E - >/dev/null 2>&1
}
fuzzer_links() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' |
        $CC -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null
}
# It refuses to start where the debugging symbols of the C library are not installed.
valgrind_runs() { valgrind -q true >/dev/null 2>&1; }

cross_links() {
    echo 'int main(void) { return 0; }' |
        aarch64-linux-gnu-gcc -x c -static -o /dev/null - 2>/dev/null
}

# Without any, a browser draws boxes for letters.
a_font() { ls -d /usr/share/fonts/*/* >/dev/null 2>&1; }

# Of emcc's optimizer of JavaScript, which node finds by NODE_PATH.
acorn() { NODE_PATH=/usr/share/nodejs node -e 'require("acorn")' 2>/dev/null; }

interpreter() { have "$PYTHON"; }
has_module() { "$PYTHON" -c "import $1" >/dev/null 2>&1; }

present() {
    case $1 in
    command:*) have "${1#command:}" ;;
    module:*) has_module "${1#module:}" ;;
    header:*) has_header "${1#header:}" ;;
    *) "$1" ;;
    esac
}

# Sets $missing to the packages of the sets in $wanted whose probe fails.
look() {
    missing=
    while read -r sets probe package; do
        for want in $wanted; do
            case ",$sets," in
            *",$want,"*) present "$probe" </dev/null || missing="$missing $package" ;;
            esac
        done
    done <<END
$table
END
}

say() { echo "setup: $*" >&2; }
give_up() {
    say "$1:$missing"
    say "on Debian or Ubuntu, as root: apt-get install$missing"
    say "elsewhere: the same tools and libraries, by the names they have there"
    exit 3
}

become_root() {
    if [ "$(id -u)" = 0 ]; then
        root=
    elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        root=sudo
    else
        give_up "neither root nor sudo, cannot install"
    fi
}

# What apt-get says goes to the log; of its many lines every 25th is shown, so that minutes of
# installing are seen to pass.
show_some() {
    lines=0
    while read -r line; do
        echo "$line" >>"$log"
        case $line in
        'Need to get'*) say "$line" ;;
        Get:* | Unpacking* | 'Setting up'*)
            lines=$((lines + 1))
            [ $((lines % 25)) -ne 0 ] || say "${line%% \[*}"
            ;;
        esac
    done
}
apt() {
    { $root env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@" 2>&1 </dev/null || echo failed; } |
        show_some
    [ "$(tail -n 1 "$log")" != failed ]
}
add() { apt install --no-install-recommends $missing; }

install_missing() {
    have apt-get || give_up "no apt-get here, cannot install"
    become_root
    log=$(mktemp)
    say "installing$missing"
    if ! add && ! { apt update && add; }; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        give_up "apt-get could not install"
    fi
    rm -f "$log"
    look
    [ -z "$missing" ] || give_up "installed, but still not usable with CC='$CC' PYTHON='$PYTHON'"
}

check=no
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
wanted=$*
for want in $wanted; do
    case $want in
    build | clang | test | fit | valgrind | format | lint | slurm | mcp | browser | web | site | python | wheel | deb | deb-test | aarch64) ;;
    *)
        say "unknown set '$want', expected build, clang, test, fit, valgrind, format, lint, slurm, mcp, browser, web, site, python, wheel, deb, deb-test or aarch64"
        exit 3
        ;;
    esac
done
look
[ -n "$missing" ] || exit 0
[ $check = no ] || give_up "missing (make setup installs them)"
install_missing
