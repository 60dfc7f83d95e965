#!/bin/sh
# fill_block.sh PAGE NAME TEXT: puts the file TEXT between the fences that follow the line
# <!-- NAME --> of PAGE. A page that has the text already is left alone.
set -eu
page=$1 name=$2 text=$3
grep -qxF "<!-- $name -->" "$page" || { echo "$page: no line <!-- $name -->" >&2; exit 2; }
awk -v mark="<!-- $name -->" -v text="$text" '
    inside && $0 != "```" { next }
    { print }
    $0 == mark { wanted = 1 }
    $0 != "```" { next }
    inside { inside = 0; next }
    wanted { wanted = 0; inside = 1; while ((getline line < text) > 0) print line }
' "$page" > "$text.page"
cmp -s "$text.page" "$page" || cp "$text.page" "$page"
rm -f "$text.page"
