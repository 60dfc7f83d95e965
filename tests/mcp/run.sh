#!/bin/sh
# Tests the server with the protocol's own client: run.sh; ASTRA is the program, MCP_DIR a folder for what
# is made.
set -eu
: "${ASTRA:?}" "${MCP_DIR:?}"
tests=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$MCP_DIR"
if ! cmp -s "$tests/package.json" "$MCP_DIR/package.json" || [ ! -d "$MCP_DIR/node_modules" ]; then
    cp "$tests/package.json" "$MCP_DIR/package.json"
    (cd "$MCP_DIR" && npm install --no-audit --no-fund --no-package-lock --silent) || {
        rm -f "$MCP_DIR/package.json"
        echo "mcp: npm could not install the client" >&2
        exit 3
    }
fi
cp "$tests"/*.mjs "$MCP_DIR/" # modules are looked for beside the script
exec node "$MCP_DIR/client.mjs" "$(dirname "$tests")"
