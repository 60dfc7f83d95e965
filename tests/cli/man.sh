# Manual pages say what the tables say, in sound macros: checked by mandoc or groff where they are
# installed. Their date is that of the release, for the same bytes every day.
set -eu
"$ASTRA" man --list >"$SCRATCH/pages"
"$ASTRA" --help | sed -n '/^$/,/^$/s/^  \([a-z]*\) .*/astra-\1/p' >"$SCRATCH/commands"
(echo astra && cat "$SCRATCH/commands") | diff - "$SCRATCH/pages"

date=$(sed -n 's/^DATE *:= *//p' Makefile)
echo "$date" | grep -qE '^20[0-9]{2}-[0-9]{2}-[0-9]{2}$' || { echo "released on '$date'"; exit 1; }
while read -r page; do
    file=$SCRATCH/$page.1
    "$ASTRA" man "$page" >"$file"
    grep -qE "^\.TH ASTRA[^ ]* 1 \"$date\" \"Astra $VERSION\"" "$file" ||
        { echo "$page is not of $date"; exit 1; }
    for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qxF ".SH $section" "$file" || { echo "$page has no $section"; exit 1; }
    done
    # No request but those we mean, and no dash that would become a hyphen.
    if grep '^[.'"'"']' "$file" | grep -vE '^\.(\\"|TH|SH|SS|TP|B|BR|PP|nf|fi)( |$)'; then
        echo "$page: a line of text is a request"
        exit 1
    fi
    if grep -v '^[.]' "$file" | sed 's/\\-//g' | grep -- '-'; then
        echo "$page: a bare dash"
        exit 1
    fi
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$file" || { echo "$page: mandoc"; exit 1; }
    fi
    if command -v groff >/dev/null; then
        groff -man -ww -Tascii "$file" 2>"$SCRATCH/groff" >"$SCRATCH/text"
        [ ! -s "$SCRATCH/groff" ] || { cat "$SCRATCH/groff"; exit 1; }
    fi
done <"$SCRATCH/pages"

# Every option of --help, with its text.
while read -r page; do
    command=${page#astra-}
    "$ASTRA" "$command" --help all | sed -n 's/^  --\([a-z-]*\).*/\1/p' >"$SCRATCH/options"
    while read -r option; do
        escaped=$(echo "--$option" | sed 's/-/\\-/g')
        grep -qF "\\fB$escaped\\fR" "$SCRATCH/$page.1" || { echo "$page: --$option"; exit 1; }
    done <"$SCRATCH/options"
done <"$SCRATCH/commands"
grep -qF 'astra search \-\-model llama3\-70b \-\-cluster 64x8:H100' "$SCRATCH/astra-search.1"
for own in help man completions version; do
    "$ASTRA" man $own | cmp - "$SCRATCH/astra.1"
done
"$ASTRA" man search | cmp - "$SCRATCH/astra-search.1"
