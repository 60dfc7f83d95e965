#!/bin/sh
# deb.sh FOLDER: Debian packages of these sources, in FOLDER. They are built in a copy, as debhelper
# writes beside the files of debian/. From the environment: CC, VERSION, DATE of the Makefile, which
# the changelog of the packages has to have too.
set -eu
: "${VERSION:?}" "${DATE:?}"
into=$1
tree=$into/astra-planner-$VERSION

fault() {
    echo "deb: $*" >&2
    exit 2
}
grep -q "^astra-planner ($VERSION) " debian/changelog || fault "debian/changelog is not of $VERSION"
grep -q "  $(LC_ALL=C date -u -d "$DATE" '+%a, %d %b %Y') " debian/changelog ||
    fault "debian/changelog is not of $DATE"

rm -rf "$into"
mkdir -p "$tree"
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$tree"
commit=$(sh tools/commit.sh)
sed -i "s/^stamp=.*/stamp='$commit'/" "$tree/tools/commit.sh"
if ! (cd "$tree" && dpkg-buildpackage -b -us -uc -nc -jauto) >"$into/log" 2>&1; then
    grep -iE 'error|fail' "$into/log" | head -n 20 >&2
    fault "not built, $into/log tells why"
fi
rm -rf "$tree"
ls -l "$into"/*.deb
