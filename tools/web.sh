#!/bin/sh
# web.sh ENGINE FOLDER: puts the planner's page together in FOLDER, for any static file server. ENGINE
# has engine.js and engine.wasm; the rest is web/ and what it shares with pages of reports, data/page.
# Limits the engine to what a phone loads in a second or two.
set -eu
engine=$1 into=$2
rm -rf "$into"
mkdir -p "$into"
cp "$engine/engine.js" "$engine/engine.wasm" web/ask.js "$into"
packed=$(gzip -9c "$into/engine.wasm" | wc -c)
echo "$into: engine $((packed / 1000)) kB gzipped, all files $(cat "$into"/* | wc -c | awk '{ print int($1 / 1000) }') kB"
[ "$packed" -lt 1600000 ] || {
    echo "web: the engine is $packed bytes gzipped, 1,600,000 at most" >&2
    exit 1
}
