#!/bin/sh
# debian_libraries.sh ARCHITECTURE FOLDER: jansson and libyaml of another architecture, from Debian's
# packages, unpacked below FOLDER (usr/include, usr/lib/TRIPLET). apt works in folders of its own
# below it, with this machine's sources and keys: nothing is installed, the system's lists stay as
# they are, root is not needed.
set -eu
architecture=$1
into=$2
packages='libjansson-dev libyaml-dev'
done=$into/unpacked
[ ! -e "$done" ] || exit 0
mkdir -p "$into/apt/lists/partial" "$into/apt/archives/partial"
at=$(cd "$into" && pwd)
: >"$at/apt/status"

apt() {
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::State="$at/apt" -o Dir::State::status="$at/apt/status" -o Dir::Cache="$at/apt" \
        -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

if ! { apt update && cd "$at/apt/archives" && apt download $packages; } >"$at/apt/log" 2>&1; then
    tail -n 5 "$at/apt/log" >&2
    echo "debian_libraries: no $packages for $architecture" >&2
    exit 3
fi
for package in *.deb; do
    dpkg-deb -x "$package" "$at"
done
touch "$at/unpacked"
