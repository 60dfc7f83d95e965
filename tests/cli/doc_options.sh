# Every command has a page, doc/commands/COMMAND.md, that names each of its options and none that
# does not exist. In tables (lines with a bar) options are the command's own; elsewhere they may be
# those of another command. Words behind " -- " in examples are Megatron's, and lines that are no
# commands of ours are not looked at.
set -eu

options() { # names of options in standard input, one a line
    grep -oE '(^|[^A-Za-z0-9_-])--[a-z][a-z-]*' | sed 's/.*--/--/' | sort -u || true
}
# PAGE: of fenced blocks the commands alone, without what is Megatron's; links without targets
words() {
    sed -E ':more; /\\$/ { N; s/\\\n//; b more; }; s/\]\([^)]*\)/]/g' "$1" | awk '
        /^```/ { fenced = !fenced; next }
        fenced && !/^(\$ )?astra / { next }
        fenced { sub(/ -- .*/, "") }
        { print }'
}

"$ASTRA" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' >"$SCRATCH/commands"
[ -s "$SCRATCH/commands" ] || { echo "astra --help lists no command" && exit 1; }
while read -r command; do
    "$ASTRA" "$command" --help all | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort >"$SCRATCH/$command"
done <"$SCRATCH/commands"
sort -u $(sed "s|^|$SCRATCH/|" "$SCRATCH/commands") >"$SCRATCH/all"

while read -r command; do
    page=doc/commands/$command.md
    [ -f "$page" ] || { echo "$page is missing" && continue; }
    grep -qF "[$command](commands/$command.md)" doc/commands.md ||
        echo "doc/commands.md: no link to $page"
    words "$page" | options >"$SCRATCH/named"
    words "$page" | grep '^|' | options >"$SCRATCH/rows"
    comm -13 "$SCRATCH/named" "$SCRATCH/$command" | sed "s|.*|$page: & is missing|"
    comm -23 "$SCRATCH/named" "$SCRATCH/all" | sed "s|.*|$page: there is no option &|"
    comm -23 "$SCRATCH/rows" "$SCRATCH/$command" | sed "s|.*|$page: & is no option of $command|"
done <"$SCRATCH/commands" >"$SCRATCH/faults"
for page in doc/commands/*.md; do
    name=$(basename "$page" .md)
    grep -qx "$name" "$SCRATCH/commands" ||
        echo "$page: there is no command $name" >>"$SCRATCH/faults"
done
cat "$SCRATCH/faults"
[ ! -s "$SCRATCH/faults" ]
