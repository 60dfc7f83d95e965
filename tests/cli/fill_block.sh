#!/bin/sh
# Tools that write tables into pages: only the fence behind the mark changes, a page without the mark is
# an error, a page that has the text already is left alone.
set -eu
page=$SCRATCH/page.md text=$SCRATCH/text
printf '%s\n' top '```' other '```' '<!-- here -->' '```' old old '```' end '```' last '```' > "$page"
printf '%s\n' new '  lines' > "$text"
sh tools/fill_block.sh "$page" here "$text"
printf '%s\n' top '```' other '```' '<!-- here -->' '```' new '  lines' '```' end '```' last '```' |
    cmp - "$page"
touch -d '2020-01-01' "$page"
sh tools/fill_block.sh "$page" here "$text"
[ -z "$(find "$page" -newermt 2020-01-02)" ]
code=0
sh tools/fill_block.sh "$page" there "$text" 2> "$SCRATCH/said" || code=$?
[ $code = 2 ]
grep -q 'no line <!-- there -->' "$SCRATCH/said"
