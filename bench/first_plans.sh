#!/bin/sh
# first_plans.sh PAGE: asks the questions of bench/first_plans.txt and writes the first plans into the
# table of PAGE, between the lines <!-- first-plans --> and <!-- end -->. The last column is people's
# judgement: it is kept, by the name of the question. ASTRA=build/astra; ONLY=NAME asks one question
# and prints its row.
set -eu
cd "$(dirname "$0")/.."
: "${ASTRA:=build/astra}" "${ONLY:=}"
page=${1:-doc/evidence/first-plans.md}
table=$(mktemp)
trap 'rm -f "$table" "$table".*' EXIT

judgement() { # of the question NAME
    awk -v name="\`$1\`" -F ' [|] ' '$1 == "| " name { sub(/ [|]$/, "", $NF); print $NF; exit }' "$page"
}

answer() { # OPTIONS: cells
    # shellcheck disable=SC2086
    if "$ASTRA" search $1 --format csv >"$table.csv" 2>"$table.err"; then
        awk -v pool="${1#*--cluster }" -f bench/first_plans.awk "$table.csv" | tr -d '\n'
        minded=$("$ASTRA" search $1 --top 1 | sed -n 's/^ *! mind, plan 1: *//p' | paste -sd ';' -)
        echo " | ${minded:--}"
    else
        printf 'no plan: %s | - | - | - | -\n' "$(head -n 1 "$table.err")"
    fi
}

{
    printf '| question | asked | first plan | step | memory | next layout | cautions | what experts ran | judgement |\n'
    printf '|---|---|---|---|---|---|---|---|---|\n'
    sed -e '/^#/d' -e '/^$/d' -e 's/ *| */|/g' bench/first_plans.txt |
        while IFS='|' read -r name options experts; do
            [ -z "$ONLY" ] || [ "$ONLY" = "$name" ] || continue
            said=$(judgement "$name")
            # shellcheck disable=SC2016
            printf '| `%s` | `%s` | %s | %s | %s |\n' "$name" "$options" "$(answer "$options")" \
                "$experts" "${said:-not judged yet}"
            echo "$name" >&2
        done
} >"$table"
[ -z "$ONLY" ] || { tail -n 1 "$table"; exit; }

awk -v table="$table" '
    $0 == "<!-- end -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- first-plans -->" { inside = 1; while ((getline line < table) > 0) print line }
' "$page" >"$table.page"
cmp -s "$table.page" "$page" || cp "$table.page" "$page"
