#!/bin/sh
# wasm_libraries.sh FOLDER: jansson and libyaml for WebAssembly, compiled by emcc from Debian's source
# packages: FOLDER/include, FOLDER/lib. apt works in folders of its own below it, with this machine's
# sources and keys, asked for source packages: nothing is installed, root is not needed.
set -eu
into=$1
done=$into/built
[ ! -e "$done" ] || exit 0
mkdir -p "$into/apt/lists/partial" "$into/apt/archives/partial" "$into/apt/parts" \
    "$into/source" "$into/include" "$into/lib"
at=$(cd "$into" && pwd)
: >"$at/apt/status"

# The machine's lists of packages, asked for sources.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$list" ] || sed -n 's/^deb /deb-src /p' "$list" >"$at/apt/parts/$(basename "$list")"
done
for list in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"$at/apt/parts/$(basename "$list")"
done

apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$at/apt/parts" \
        -o Dir::State="$at/apt" -o Dir::State::status="$at/apt/status" -o Dir::Cache="$at/apt" \
        -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# Sources of others may have no lists; those of Debian must.
if ! { apt update || true; cd "$at/source" && apt --download-only source jansson libyaml; } \
    >"$at/apt/log" 2>&1; then
    tail -n 5 "$at/apt/log" >&2
    echo "wasm_libraries: no sources of jansson and libyaml" >&2
    exit 3
fi
for archive in *.orig.tar.*; do
    tar -xf "$archive"
done

# What their configure scripts would find out, of Emscripten's C library.
compile() { # LIBRARY FOLDER FLAGS...
    library=$1 folder=$2
    shift 2
    for file in "$folder"/src/*.c; do
        emcc -O2 -DHAVE_STDINT_H "$@" -c "$file" -o "${file%.c}.o" || return 1
    done
    emar rcs "$at/lib/lib$library.a" "$folder"/src/*.o
}
jansson=$(ls -d jansson-*/ | head -n 1)
yaml=$(ls -d libyaml-*/ yaml-*/ 2>/dev/null | head -n 1)
sed -e 's/@json_inline@/inline/' -e 's/@json_have_long_long@/1/' -e 's/@json_have_localeconv@/1/' \
    -e 's/@json_have_atomic_builtins@/1/' -e 's/@json_have_sync_builtins@/1/' \
    "$jansson/src/jansson_config.h.in" >"$at/include/jansson_config.h"
: >"$at/include/jansson_private_config.h"
cp "$jansson/src/jansson.h" "$yaml/include/yaml.h" "$at/include"
compile jansson "$jansson" -I"$at/include" -DHAVE_SYS_TYPES_H -DHAVE_UNISTD_H -DHAVE_SYS_TIME_H \
    -DHAVE_GETTIMEOFDAY -DHAVE_STRTOLL -DHAVE_LOCALE_H -DHAVE_SETLOCALE -DHAVE_FCNTL_H -DHAVE_OPEN \
    -DHAVE_CLOSE -DHAVE_READ -DHAVE_GETPID -DINITIAL_HASHTABLE_ORDER=3
compile yaml "$yaml" -I"$yaml/include" -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 \
    -DYAML_VERSION_PATCH=5 '-DYAML_VERSION_STRING="0.2.5"'
touch "$at/built"
