#!/bin/sh
# site.sh FOLDER [PLANNER]: the manual as pages that open from disk: README.md in front, then doc/
# in the order of doc/README.md. The planner's page goes along, if its folder is named and there. A
# link that leads nowhere is an error with file and line, and so is a page that doc/README.md does
# not name; then nothing is written. From the environment: VERSION, DATE.
set -eu
here=$(dirname "$0")/site
into=$1 planner=${2:-}
[ -e "$planner/index.html" ] || planner=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${VERSION:=}" "${DATE:=}"
tab=$(printf '\t')
out=$work/site
mkdir -p "$out"

page_of() { echo "$1" | sed 's/README\.md$/index.html/; s/\.md$/.html/'; }
root_of() { echo "$1" | sed 's|[^/]*$||; s|[^/]*/|../|g'; }

awk -f "$here/nav.awk" doc/README.md doc/evidence/README.md >"$work/order"
for page in README.md CHANGELOG.md CONTRIBUTING.md doc/*.md doc/*/*.md; do
    cut -f2 "$work/order" | grep -qxF "$page" || echo "doc/README.md:1: does not name $page"
done >"$work/unnamed"
[ ! -s "$work/unnamed" ] || { cat "$work/unnamed" >&2 && exit 1; }

# Bodies, contents, links and the search, page by page.
: >"$work/links"
printf 'const MANUAL = [\n' >"$out/search.js"
while IFS=$tab read -r group page label; do
    name=$work/$(echo "$page" | tr / -)
    cmark-gfm -e table -e strikethrough -e autolink --sourcepos "$page" |
        awk -v page="$page" -v contents="$name.contents" -v links="$name.links" \
            -v search="$out/search.js" -f "$here/page.awk" >"$name.body"
    sed "s|^|$page$tab|" "$name.links" >>"$work/links"
    sed -n "s|^<h[1-6] id=\"\([^\"]*\)\".*|$(page_of "$page")$tab\1|p" "$name.body" >>"$work/anchors"
done <"$work/order"
echo '];' >>"$out/search.js"

# Files that pages show or name lie where they lie in the project.
awk -F '\t' '$4 !~ /^[a-z]+:|^#|\.md(#|$)/ { sub(/[^\/]*$/, "", $1); print $1 $4 }' "$work/links" |
    sort -u |
    while read -r file; do
        [ -f "$file" ] || continue
        mkdir -p "$out/$(dirname "$file")"
        cp "$file" "$out/$file"
    done
cut -f2 "$work/order" | sed 's/README\.md$/index.html/; s/\.md$/.html/' >"$work/files"
(cd "$out" && find . -type f | sed 's|^\./||') >>"$work/files"
awk -f "$here/check.awk" "$work/files" "$work/anchors" "$work/links" >&2

# The list of pages, as links from a page: its own group is open.
navigation() { # PAGE
    awk -F '\t' -v own="$1" -v root="$(root_of "$1")" '
        function target(file) {
            sub(/README\.md$/, "index.html", file)
            sub(/\.md$/, ".html", file)
            return root file
        }
        NR == FNR { if ($2 == own) group = $1; next }
        $1 != last {
            if (FNR > 1)
                print last == "-" ? "</ul>" : "</ul></details>"
            if ($1 != "-")
                printf "<details%s><summary>%s</summary>", $1 == group ? " open" : "", $1
            print "<ul>"
            last = $1
        }
        {
            printf "<li><a href=\"%s\"%s>%s</a></li>\n", target($2),
                $2 == own ? " aria-current=\"page\"" : "", $3
        }
        END { print "</ul></details>" }' "$work/order" "$work/order"
}
step() { # PAGE WORD REL: the link to a neighbour, if there is a page
    [ -n "$1" ] || return 0
    label=$(awk -F '\t' -v page="$1" '$2 == page { print $3 }' "$work/order")
    printf '<a class="%s" rel="%s" href="%s"><span>%s</span>%s</a>\n' \
        "$3" "$3" "$root$(page_of "$1")" "$2" "$label"
}
planner_link() {
    [ -z "$planner" ] || printf '<a class="planner" href="%splanner/index.html">Planner</a>\n' "$root"
}
whole() { # PAGE GROUP PREVIOUS NEXT
    name=$work/$(echo "$1" | tr / -) root=$(root_of "$1")
    title=$(sed -n 's|^<h1 id="[^"]*">\(.*\)</h1>$|\1|p' "$name.body" | sed 's/<[^>]*>//g' | head -n 1)
    title="$title - Astra"
    [ "$1" != README.md ] || title='Astra: plans for large-model training'
    cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="${root}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}site.css">
<script src="${root}site.js"></script>
</head>
<body data-root="$root">
<a class="skip" href="#content">Skip to the text</a>
<header class="top">
<a class="brand" href="${root}index.html"><span class="star" aria-hidden="true"></span>Astra</a>
<div class="find" role="search">
<input id="find" type="search" placeholder="Search the manual" aria-label="Search the manual"
 autocomplete="off" spellcheck="false" role="combobox" aria-expanded="false" aria-controls="found">
<kbd aria-hidden="true">/</kbd>
<div id="found" role="listbox" aria-label="Found" hidden></div>
</div>
$(planner_link)
<button id="theme" type="button">Theme: auto</button>
</header>
<div class="shell">
<nav id="pages" aria-label="Pages"><details id="pages-fold" open><summary>All pages</summary>
END
    navigation "$1"
    printf '</details></nav>\n<main id="content" tabindex="-1">\n'
    if [ "$(wc -l <"$name.contents")" -gt 2 ]; then
        printf '<details class="inner-contents"><summary>On this page</summary><ul>\n'
        cat "$name.contents"
        printf '</ul></details>\n'
    fi
    [ "$2" = - ] || printf '<p class="group">%s</p>\n' "$2"
    cat "$name.body"
    printf '<div class="steps">\n'
    step "$3" Previous prev
    step "$4" Next next
    printf '</div>\n<footer>Astra %s, %s</footer>\n</main>\n' "$VERSION" "$DATE"
    if [ -s "$name.contents" ]; then
        printf '<nav id="contents" aria-label="On this page"><p>On this page</p><ul>\n'
        cat "$name.contents"
        printf '</ul></nav>\n'
    fi
    printf '</div>\n<div id="spoken" class="hidden" aria-live="polite"></div>\n</body>\n</html>\n'
}
write() { # PAGE GROUP PREVIOUS NEXT
    mkdir -p "$out/$(dirname "$1")"
    whole "$@" >"$out/$(page_of "$1")"
}

previous='' page='' group=''
while IFS=$tab read -r next_group next label; do
    [ -z "$page" ] || write "$page" "$group" "$previous" "$next"
    previous=$page page=$next group=$next_group
done <"$work/order"
write "$page" "$group" "$previous" ''

cat data/page/theme.css "$here/site.css" >"$out/site.css"
cat data/page/dom.js data/page/theme.js "$here/site.js" >"$out/site.js"
cp web/icon.svg "$out"
[ -z "$planner" ] || cp -R "$planner" "$out/planner"
rm -rf "$into"
mkdir -p "$(dirname "$into")"
mv "$out" "$into"
echo "$into: $(wc -l <"$work/order") pages, $(wc -l <"$work/links") links"
