#!/bin/sh
# dist.sh FOLDER: the sources of the last commit as FOLDER/astra-VERSION.tar.gz. Same commit, same
# bytes: times are the commit's, owners root, and gzip notes neither name nor time. From the
# environment: VERSION.
set -eu
: "${VERSION:?}"
into=$1
name=astra-$VERSION
[ -e .git ] || { echo 'dist: this is no git checkout: the sources lie here as they were released' >&2; exit 2; }
git diff --quiet HEAD || echo 'dist: of the last commit, changes since then are left out' >&2
mkdir -p "$into"
umask=tar.umask=0022 # of whoever makes it, otherwise
git -c "$umask" archive --format=tar --prefix="$name/" HEAD >"$into/$name.tar"
gzip -n -9 -f "$into/$name.tar"
