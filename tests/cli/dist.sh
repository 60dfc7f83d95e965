# A release of the sources is the same bytes however often it is made, is whole, and knows its commit.
set -eu
if ! [ -e .git ] || ! git rev-parse -q --verify HEAD >"$SCRATCH/head"; then
    echo 'not run: no git checkout'
    exit 0
fi
name=astra-$VERSION
sh tools/dist.sh "$SCRATCH/one" 2>"$SCRATCH/said"
sleep 1 # of a clock that would be noted
(umask 077 && TZ=Asia/Tokyo sh tools/dist.sh "$SCRATCH/two" 2>"$SCRATCH/said")
cmp "$SCRATCH/one/$name.tar.gz" "$SCRATCH/two/$name.tar.gz"
tar -xzf "$SCRATCH/one/$name.tar.gz" -C "$SCRATCH"
(cd "$SCRATCH/$name" && [ -f Makefile ] && [ -f LICENSE ] && sh tools/commit.sh) >"$SCRATCH/commit"
[ "$(cat "$SCRATCH/commit")" = "$(cut -c 1-12 "$SCRATCH/head")" ] || { echo 'another commit'; exit 1; }
git ls-files | LC_ALL=C sort >"$SCRATCH/ours"
(cd "$SCRATCH/$name" && find . -type f -o -type l) | sed 's|^./||' | LC_ALL=C sort >"$SCRATCH/theirs"
git diff --quiet HEAD || exit 0 # files that were added or removed since then
diff "$SCRATCH/ours" "$SCRATCH/theirs"
cp "$SCRATCH/one/$name.tar.gz" "$SCRATCH/two/other.tar.gz"
sh tools/sums.sh "$SCRATCH/two"
(cd "$SCRATCH/two" && sha256sum -c --quiet SHA256SUMS)
