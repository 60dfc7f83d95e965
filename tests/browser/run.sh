#!/bin/sh
# Tests pages in Chromium, the planner's also in Firefox: run.sh; ASTRA is the program, WEB the folder
# of the planner's page, SITE that of the manual, BROWSER_DIR a folder for what is made.
set -eu
: "${ASTRA:?}" "${WEB:?}" "${SITE:?}" "${BROWSER_DIR:?}"
tests=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$BROWSER_DIR"
if ! cmp -s "$tests/package.json" "$BROWSER_DIR/package.json" ||
    [ ! -d "$BROWSER_DIR/node_modules" ]; then
    cp "$tests/package.json" "$BROWSER_DIR/package.json"
    (cd "$BROWSER_DIR" && npm install --no-audit --no-fund --no-package-lock --silent) || {
        rm -f "$BROWSER_DIR/package.json"
        echo "browser: npm could not install playwright-core" >&2
        exit 3
    }
fi
code=0
node "$tests/page.mjs" || code=$?
node "$tests/../web/page.mjs" || code=$?
node "$tests/site.mjs" || code=$?
exit $code
