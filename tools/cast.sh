#!/bin/sh
# cast.sh FILE.svg: a terminal cast for the README, of what ASTRA prints now: each scene is a
# command in a terminal of 108 columns and the lines of its output that are shown.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "${ASTRA:-build/astra}")" "$work/bin/astra"
cp examples/train.sh "$work"

scene() { # LINES COMMAND
    (cd "$work" && PATH=$work/bin:$PATH TERM=xterm LC_ALL=C.UTF-8 XDG_CONFIG_HOME=$work \
        script -qec "stty cols 108 rows 40; $2" /dev/null </dev/null >raw) ||
        { cat "$work/raw" >&2 && exit 1; }
    printf '$ %s\n' "$2"
    # Lines of progress end in a carriage return, and are gone from a terminal.
    sed -e 's/\r$//' -e 's/.*\r//' "$work/raw" | head -n "$1"
    [ "$(wc -l <"$work/raw")" -le "$1" ] || echo ...
}
{
    scene 24 'astra search --model llama3-70b --cluster 64x8:H100 --top 5'
    scene 23 'astra estimate train.sh --gpu H100'
    scene 28 'astra improve train.sh --gpu H100 -o faster.sh'
} >"$work/scenes"
LC_ALL=C.UTF-8 awk -f "$here/cast.awk" "$work/scenes" >"$work/cast.svg"
mv "$work/cast.svg" "$1"
