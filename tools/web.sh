#!/bin/sh
# web.sh ENGINE FOLDER: puts the planner's page together in FOLDER, for any static file server. ENGINE
# has engine.js and engine.wasm; the rest is web/ and what it shares with pages of reports, data/page.
# Limits the engine to what a phone loads in a second or two. From the environment: VERSION, DATE.
set -eu
engine=$1 into=$2
rm -rf "$into"
mkdir -p "$into"

# Styles and scripts of the report in its order, without its start; then those of the planner.
shared() { # KIND ENDING
    for name in $(sed -n "s/.*{{$1 \([^}]*\)}}.*/\1/p" data/page/page.html); do
        [ "$name.$2" = main.js ] || cat "data/page/$name.$2"
    done
}
own='engine_client question form script_form asking actions compare sliders recent app'
{ shared style css && cat web/web.css; } >"$into/page.css"
{
    echo '"use strict";'
    shared script js
    node web/known.mjs "$engine/engine.js"
    for name in $own; do cat "web/$name.js"; done
} >"$into/page.js"
cp "$engine/engine.js" "$engine/engine.wasm" web/ask.js web/worker.js web/icon.svg \
    web/site.webmanifest "$into"

# Evidence: documents as they are, and the pictures of steps.
mkdir "$into/evidence"
pictures= documents=
for name in hopper blackwell ampere experts amd graphics; do
    cp "doc/evidence/pictures/steps.$name.svg" "$into/evidence"
    pictures="$pictures<img src=\"evidence/steps.$name.svg\" alt=\"predicted and published steps: $name\">"
done
for name in accuracy verification memory operators experts mixed; do
    cp "doc/evidence/$name.md" "$into/evidence/$name.txt"
    documents="$documents<li><a href=\"evidence/$name.txt\">$name</a></li>"
done
fill() { # FILE
    sed -e "s|{{version}}|$VERSION|g" -e "s|{{date}}|$DATE|g" -e "s|{{pictures}}|$pictures|" \
        -e "s|{{documents}}|$documents|" "web/$1" >"$into/$1"
}
fill index.html
fill evidence.html

# The service worker names every file, and changes with any of them.
files=$(cd "$into" && find . -type f | sort | sed 's|^./|"|; s|$|", |' | tr -d '\n')
build=$(cd "$into" && find . -type f | sort | xargs cat | sha256sum | cut -c1-12)
sed -e "s|{{build}}|$build|" -e "s|{{files}}|\"./\", $files|" web/sw.js >"$into/sw.js"

packed=$(gzip -9c "$into/engine.wasm" | wc -c)
echo "$into: engine $((packed / 1000)) kB gzipped, page $(cat "$into"/page.* "$into"/index.html | gzip -9 | wc -c) bytes"
[ "$packed" -lt 1600000 ] || {
    echo "web: the engine is $packed bytes gzipped, 1,600,000 at most" >&2
    exit 1
}
