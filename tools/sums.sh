#!/bin/sh
# sums.sh FOLDER: writes FOLDER/SHA256SUMS, of all other files there, as sha256sum -c reads it.
set -eu
cd "$1"
rm -f SHA256SUMS
sha256sum -- * >sums.part
mv sums.part SHA256SUMS
