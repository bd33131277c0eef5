#!/bin/sh
# Installs the programs that tests/clients runs, in the versions of tests/clients/npm, into .cache/clients.
# Needs node (20 or newer) and npm; does nothing when the same versions are there already.

set -eu

cd -- "$(dirname -- "$0")/.."
source=tests/clients/npm
target=.cache/clients
conformance=$target/node_modules/@modelcontextprotocol/conformance/dist

stamp=$(cat "$source/package.json" "$source/package-lock.json" "$0" | cksum)" $(node --version) $(uname -sm)"
if [ -f "$target/stamp" ] && [ "$(cat "$target/stamp")" = "$stamp" ]; then
    echo "$target is up to date"
    exit 0
fi

mkdir -p "$target"
rm -f "$target/stamp"
cp "$source/package.json" "$source/package-lock.json" "$target/"
npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund

# The suite imports fs.globSync, which node has since 22; the commands that the tests run do not call it.
if node -e 'process.exit(require("fs").globSync ? 0 : 1)'; then
    cp "$conformance/index.js" "$conformance/run.mjs"
else
    sed 's/globSync as [A-Za-z_$][A-Za-z0-9_$]*,//' "$conformance/index.js" >"$conformance/run.mjs"
fi

printf '%s\n' "$stamp" >"$target/stamp"
echo "installed into $target"
