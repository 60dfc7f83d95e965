#!/bin/sh
# What doc/evidence/verification.md says, computed anew from data/verified: predictions beside measurements
# of plans that the fit has not seen, and configurations in the order that Astra gives them.
#
#   ASTRA=build/astra sh tools/verification.sh
set -eu
cd "$(dirname "$0")/.."
: "${ASTRA:=build/astra}"

set -- data/verified/ranks/*.json
for plan in data/verified/plans/*.json; do
    set -- "$@" --hold-out "$plan"
done
"$ASTRA" calibrate "$@"

# Configurations of one model on one GPU, by predicted time; those that ran out of memory last.
ranking() {
    printf '\nRanking of %s on one H200: by prediction\n' "$1"
    printf '  %-22s %9s %9s %8s\n' configuration predicted measured 'off best'
    "$ASTRA" calibrate "data/verified/ranks/$1"-*-[0-9].json --format csv |
        awk -F, -v model="$1" '$4 == "compute" {
            sub(".*/" model "-", "", $1); sub("[.]json", "", $1); print $7, $6, $1 }' | sort -n |
        awk '{ predicted[NR] = $1; measured[NR] = $2; name[NR] = $3
               if (NR == 1 || $2 < best) best = $2 }
             END { for (i = 1; i <= NR; i++)
                       printf "  %-22s %7.3f s %7.3f s %+6.1f %%\n", name[i], predicted[i],
                           measured[i], 100 * (measured[i] / best - 1) }'
    for f in "data/verified/ranks/$1"-*-[0-9].json; do
        grep -q '"status": "out of memory"' "$f" || continue
        f=${f##*/"$1"-}
        printf '  %-22s %21s\n' "${f%.json}" 'out of memory'
    done
}
ranking llama3.2-1b
ranking llama3.2-3b
