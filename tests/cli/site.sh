# The manual as a site: every page is there, the search has its words; a link that leads nowhere and a
# page that nobody names are errors with file and line.
set -eu
mkdir "$SCRATCH/planner"
echo 'a page' >"$SCRATCH/planner/index.html"
VERSION=1.2.3 DATE=2026-01-31 sh tools/site.sh "$SCRATCH/site" "$SCRATCH/planner" >/dev/null
fail() { echo "$*" && exit 1; }
has() { # FILE TEXT
    grep -qF -e "$2" "$SCRATCH/site/$1" || fail "$1 has no $2"
}

for page in doc/*.md doc/*/*.md CHANGELOG.md; do
    html=$(echo "$page" | sed 's/README\.md$/index.html/; s/\.md$/.html/')
    [ -f "$SCRATCH/site/$html" ] || fail "there is no $html"
done
has index.html '<h1 id="astra">'
has index.html '<footer>Astra 1.2.3, 2026-01-31</footer>'
has doc/faq.html '<a class="prev" rel="prev" href="../doc/tutorial.html">'
has doc/faq.html '<li><a href="../doc/faq.html" aria-current="page">FAQ</a></li>'
has doc/commands/search.html 'href="../../doc/index.html"'
has doc/tutorial.html '<span class="prompt">$ </span><span class="command">astra search'
has search.js '"doc/faq.html","why-not-tp16",'
has planner/index.html 'a page'
has doc/commands/search.html 'href="../../planner/index.html">Planner</a>'
! grep -rlE '(src|stylesheet" href)="(https?:)?//' "$SCRATCH/site" || fail 'loads from elsewhere'

# A project of its own, with what its pages may not have.
mkdir "$SCRATCH/broken"
cp -R README.md CHANGELOG.md CONTRIBUTING.md LICENSE doc examples tools "$SCRATCH/broken"
cp -R --parents data/*/README.md data/page web/icon.svg "$SCRATCH/broken"
cd "$SCRATCH/broken"
must_fail() { # OUTPUT
    ! sh tools/site.sh made 2>"$SCRATCH/err" || fail "nothing is wrong, expected $1"
    [ "$(cat "$SCRATCH/err")" = "$1" ] || { cat "$SCRATCH/err" && fail "expected $1"; }
    [ ! -e made ] || fail 'written in spite of it'
}
cat >doc/trace.md <<'END'
# Trace

Two lines, of which the second has
[a page](tracer.md) that is not there.

| a | b |
|---|---|
| [heading](faq.md#why-not) | ![picture](pictures/none.png) |
| `[no link](at-all.md)` | ![foreign](https://example.com/a.png) |

[Itself](#trace), [out](https://example.com), [above](../../above.md)
END
must_fail "doc/trace.md:4: tracer.md does not exist
doc/trace.md:8: faq.md#why-not has no such heading
doc/trace.md:8: pictures/none.png does not exist
doc/trace.md:9: https://example.com/a.png would be loaded from elsewhere
doc/trace.md:11: ../../above.md does not exist"
new=new.md # no page of this project
echo '# New' >doc/$new
must_fail 'doc/README.md:1: does not name doc/'$new
