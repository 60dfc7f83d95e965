#!/bin/sh
# The tree is the pipeline: a room of src/ includes base/ and the rooms before it, never one behind
# it. Since the rooms have one order, no cycle of folders can come about. Every header has an
# includer, and names say what is meant: those of files, structs and enums are there once.
set -u
cd "$(dirname "$0")/.." || exit 3
ROOMS='base model cluster price dataset strategy rules layer schedule cost simulate search import export query
       probe calibrate verify learn report run mcp'
found=$(mktemp) || exit 3
trap 'rm -f "$found"' EXIT
failed=0
fault() {
    echo "$*"
    failed=1
}

find src -mindepth 1 -maxdepth 1 -type f ! -name astra.c | while read -r file; do
    echo "$file: src/ itself has astra.c alone"
done >"$found"
for folder in src/*/; do
    case " $(echo $ROOMS) " in *" $(basename "$folder") "*) ;; *) echo "$folder: no room of that name" ;; esac
done >>"$found"
[ ! -s "$found" ] || fault "$(cat "$found")"

# Edges between rooms against their order: from, to, file, header.
grep -rHE '^[[:space:]]*#[[:space:]]*include "' src --include='*.[ch]' --include='*.def' |
    sed -E 's|^src/([^:]*):[^"]*"([^"]*)".*|\1 \2|' |
    awk -v rooms="$ROOMS" '
        BEGIN { n = split(rooms, list, /[ \n]+/); for (i = 1; i <= n; i++) place[list[i]] = i }
        $1 == "astra.c" { next }
        $2 == "astra.h" { next }
        {
            split($1, from, "/"); split($2, to, "/")
            if (!(to[1] in place)) print "unknown", to[1], $1, $2
            else if (place[to[1]] > place[from[1]]) print from[1], to[1], $1, $2
        }' | sort -u >"$found"

while read -r from to file header; do
    fault "src/$file: $from includes $header, a room behind it"
done <"$found"

for header in $(find src -name '*.h' -o -name '*.def' | sort); do
    grep -rqF "\"${header#src/}\"" src tests bench tools --include='*.[ch]' --include='*.def' ||
        fault "$header: nothing includes it"
done
for name in $(find src cli -name '*.[ch]' -o -name '*.def' | sed 's|.*/||' | sort | uniq -d); do
    fault "$name: two files have that name"
done
tags=$(grep -rhoE '^ *(static )?(const )?(struct|union|enum) [a-z_0-9]+ \{' src cli --include='*.[ch]' |
    sed -E 's/^ *(static )?(const )?//; s/ \{$//' | sort | uniq -d)
[ -z "$tags" ] || fault "defined twice: $tags"
exit $failed
