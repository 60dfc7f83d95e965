# Files that the documentation names are there, and so are the pages that code names.
#
# A page names files in backquotes: a path from the root or from src, or the name of a source file
# (.c, .h, .def) anywhere; "*" and words in capitals (test_STAGE.c) stand for any text. Fenced blocks
# and CHANGELOG.md, which tells of the past, are not looked at.
set -eu

named() { # PAGE: names of files, one a line
    awk '/^```/ { fenced = !fenced; print ""; next } !fenced' "$1" |
        awk -v RS= '{ n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' |
        grep -xE '(src|cli|include|data|tests|bench|tools|examples|doc)/.*|[^ ]+\.(c|h|def)' |
        grep -v ' ' | sed -E 's/[A-Z]{4,}/*/g' | sort -u || true
}

there() { # NAME
    case $1 in
    */*)
        for file in $1 src/$1; do
            [ ! -e "$file" ] || return 0
        done
        return 1
        ;;
    esac
    grep -qx -e "$(echo "$1" | sed 's/[.]/\\./g; s/[*]/.*/g')" "$SCRATCH/sources"
}

find src cli include tests bench tools examples -name '*.[ch]' -o -name '*.def' |
    sed 's|.*/||' >"$SCRATCH/sources"
for page in *.md doc/*.md doc/commands/*.md doc/evidence/*.md data/*/README.md; do
    [ "$page" != CHANGELOG.md ] || continue
    named "$page" | while read -r name; do
        there "$name" || echo "$page: there is no file $name"
    done
done >"$SCRATCH/missing"
grep -rnoE 'doc/[a-z/_-]+\.md' Makefile src cli include bench tools tests/*.* tests/unit tests/cli |
    while IFS=: read -r file line page; do
        [ -f "$page" ] || echo "$file:$line: there is no page $page"
    done >>"$SCRATCH/missing"
cat "$SCRATCH/missing"
[ ! -s "$SCRATCH/missing" ]
