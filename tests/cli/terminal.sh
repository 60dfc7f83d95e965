# On a terminal answers fit its width, have colours and bars, and a search that takes long says how
# far it is; in a pipe, with NO_COLOR, --no-color or a dumb terminal there is nothing of that. The
# terminal is a make-believe one, of script(1).
set -eu
command -v script >/dev/null || { echo 'no script(1) here'; exit 0; }
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo 'no pseudo-terminals here'; exit 0; }
unset NO_COLOR || :
export TERM=xterm
esc=$(printf '\033') cr=$(printf '\r')

# What astra writes to a terminal of so many columns, without the colours unless KEEP is set.
on_terminal() { # COLUMNS ARGUMENTS...
    columns=$1
    shift
    words=
    for word in "$@"; do words="$words '$word'"; done
    script -qec "stty cols $columns rows 40; exec '$ASTRA' $words" /dev/null </dev/null >"$SCRATCH/raw" ||
        : # a plan that does not fit is an answer too
    sed -e "s/$cr\$//" -e "s/.*$cr//" "$SCRATCH/raw" >"$SCRATCH/coloured"
    sed "s/$esc\[[0-9;]*m//g" "$SCRATCH/coloured" >"$SCRATCH/out"
    [ -s "$SCRATCH/out" ] || { echo "astra $*: printed nothing"; exit 1; }
}

# Messages on standard error are for the terminal to wrap; a flag with one long word is not broken.
fits() { # COLUMNS ARGUMENTS...
    on_terminal "$@"
    grep -vE "^astra: |^    --[a-z-]+ '[^ ]*'( .)?$" "$SCRATCH/out" | sed 's/±/x/g' | awk -v most="$1" 'length($0) > most' >"$SCRATCH/wide"
    [ ! -s "$SCRATCH/wide" ] || { echo "wider than $1, astra $*:"; cat "$SCRATCH/wide"; exit 1; }
}

plan=tests/golden/files/plan.json

# A GPU that measures what is predicted, for verify.
mkdir "$SCRATCH/megatron"
: >"$SCRATCH/megatron/pretrain_gpt.py"
"$ASTRA" verify $plan --dry-run --format csv | awk -F, 'NR > 1 { print $7, 1000 * $9, $12 / 1048576 }' \
    >"$SCRATCH/predicted"
cat >"$SCRATCH/python" <<END
#!/bin/sh
[ "\$2" != --check ] || {
    echo 'RANK {"python": "3.12.1", "torch": "2.11.0", "cuda": true, "gpu": "NVIDIA H100 80GB HBM3", "total_mib": 81559, "free_mib": 81559, "te": "2.1", "megatron": "0.20.0", "fake_process_group": true}'
    exit 0
}
while read -r rank ms mib; do
    [ "\$rank" != "\$5" ] ||
        echo "RANK {\"status\": \"ok\", \"iterations\": 6, \"peak_mib\": \$mib, \"reserved_mib\": \$mib, \"total_mib\": 81559, \"compute_ms\": \$ms, \"iteration_ms\": [9, 9, 5.0, 5.1, 5.0, 5.1], \"fill_ms\": [1, 1, 1, 1, 1, 1], \"sm_mhz\": 1755, \"watts\": 640.5, \"watt_limit\": 700, \"loss\": [11.7]}"
done <"$SCRATCH/predicted"
END
chmod +x "$SCRATCH/python"

mixed='--model llama3-8b --cluster 2x8:H100,2x8:A100'
for width in 60 100; do
    fits $width
    fits $width --help
    for command in search estimate explain export verify gpus prices models fit calibrate; do
        fits $width $command --help
    done
    fits $width gpus
    fits $width models
    fits $width prices
    fits $width search --model llama3-8b --cluster 4x8:H100 --stats
    fits $width search --model mixtral-8x7b --cluster 2x8:H100,2x8:A100 --stats --tokens 1T \
        --set dispatcher=alltoall --set micro_batch=1,2
    fits $width search --model llama3-8b --cluster 1..8x8:H100,1..8x8:A100 --tokens 100B \
        --budget 1M --mtbf 50000h --what-if gpus=16 --what-if price:h100=-20% --what-if gpus=1
    fits $width estimate $mixed --set pp=2 --set tp=4
    fits $width explain $plan --tokens 1T --mtbf 50000h
    for stage in ops cost schedule memory; do fits $width explain $plan --stage $stage; done
    fits $width verify tests/golden/files/four_stages.json --dry-run --megatron Megatron-LM
    fits $width verify $plan --megatron "$SCRATCH/megatron" --python "$SCRATCH/python"
    grep -q 'confirmed: ' "$SCRATCH/out" || { echo 'no verdict'; exit 1; }
    fits $width calibrate tests/golden/files/dense_log.txt tests/golden/files/h200_log.txt --gpu H200
    fits $width explain $mixed --set pp=2 --set tp=4
    fits $width explain --model llama3-70b --cluster 1x8:H100 --set tp=4 --set pp=2
done

# What is left out of a table for want of room is named.
on_terminal 60 gpus
grep -q 'too narrow for: ' "$SCRATCH/out" || { echo 'columns go without a word'; exit 1; }
on_terminal 250 gpus
! grep -q 'too narrow for: ' "$SCRATCH/out" || { echo '250 columns are too few'; exit 1; }

# Colours and bars.
on_terminal 80 explain $plan
grep -q "$esc\[1;32mFits$esc\[0m" "$SCRATCH/coloured" || { echo 'no colour'; exit 1; }
grep -q '####\.' "$SCRATCH/out" || { echo 'no bars'; exit 1; }
grep -q 'WWGG' "$SCRATCH/out" || { echo 'no bars of memory'; exit 1; }
if locale -a 2>/dev/null | grep -qi '^c\.utf-\?8$'; then
    (export LC_ALL=C.UTF-8 && on_terminal 80 explain $plan)
    grep -q '█' "$SCRATCH/out" || { echo 'no blocks in a locale of UTF-8'; exit 1; }
    ! grep -q '####\.' "$SCRATCH/out" || { echo 'two kinds of bars'; exit 1; }
fi

plain() { # WHY: nothing of it in coloured
    ! grep -q "$esc" "$SCRATCH/coloured" || { echo "colours: $1"; exit 1; }
    ! grep -qE '##|WWGG|█' "$SCRATCH/coloured" || { echo "bars: $1"; exit 1; }
}
(export NO_COLOR=1 && on_terminal 80 explain $plan)
plain NO_COLOR
cp "$SCRATCH/out" "$SCRATCH/no_color"
(export NO_COLOR= && on_terminal 80 explain $plan)
grep -q "$esc" "$SCRATCH/coloured" || { echo 'an empty NO_COLOR counts'; exit 1; }
on_terminal 80 explain $plan --no-color
plain --no-color
cmp "$SCRATCH/out" "$SCRATCH/no_color"
(export TERM=dumb && on_terminal 80 explain $plan)
plain 'a dumb terminal'
"$ASTRA" explain $plan >"$SCRATCH/coloured"
plain 'in a pipe'
on_terminal 80 explain $plan --color never
plain '--color never'
"$ASTRA" explain $plan --color always -o "$SCRATCH/coloured"
plain '--color always in a file'
(export NO_COLOR=1 && "$ASTRA" explain $plan --color always >"$SCRATCH/coloured")
grep -q "$esc" "$SCRATCH/coloured" || { echo '--color always has none in a pipe'; exit 1; }
sed "s/$esc\[[0-9;]*m//g" "$SCRATCH/coloured" | grep -q '^Fits' || { echo '--color always changes words'; exit 1; }

# What colours mean: cautions and crowded memory are yellow, what does not fit and what is slower red, faster green.
"$ASTRA" search --model llama3-70b --cluster 2x8:H100 --top 3 --color always >"$SCRATCH/coloured"
"$ASTRA" compare tp=8 tp=4 --model llama3-70b --cluster 8x8:H100 --color always >"$SCRATCH/compared"
for piece in "^  $esc\[33m! 1$esc\[0m  *$esc\[1m16" "^  $esc\[33m! mind, .*)$esc\[0m\$" "$esc\[33m74.1/75.9 GiB$esc\[0m"; do
    grep -q "$piece" "$SCRATCH/coloured" || { echo "no $piece"; exit 1; }
done
for piece in "$esc\[1;32m-9.3 %$esc\[0m" "$esc\[1;31m+2.7 %$esc\[0m" "$esc\[1;31mdoes not fit$esc\[0m"; do
    grep -qF "$(printf %s "$piece" | sed 's/\\//g')" "$SCRATCH/compared" || { echo "no $piece in compare"; exit 1; }
done

# Progress: on a terminal, after a second, with what is left, and wiped; nothing of it in a pipe.
slow='search --model gpt3-175b --cluster 64x8:H100 --exhaustive --threads 1 --time-limit 1.5s'
on_terminal 80 $slow
tr '\r' '\n' <"$SCRATCH/raw" | grep -q '^\[[#.]*\]  *[0-9]* %' || { echo 'no progress'; exit 1; }
tr '\r' '\n' <"$SCRATCH/raw" | grep -q '^  *$' || { echo 'progress is not wiped'; exit 1; }
# On a narrow one the bar is shorter, then what is left goes, then all of it.
for width in 50 30 12; do
    on_terminal $width $slow
    tr '\r' '\n' <"$SCRATCH/raw" | grep '^\[[#.]*\] ' >"$SCRATCH/drawn" ||
        { echo "no progress in $width"; exit 1; }
    awk -v most=$width 'length($0) >= most { wide = 1 } END { exit wide }' "$SCRATCH/drawn" ||
        { echo "progress is wider than $width"; exit 1; }
done
"$ASTRA" $slow >"$SCRATCH/out" 2>"$SCRATCH/err"
[ ! -s "$SCRATCH/err" ] || { echo 'progress in a pipe'; exit 1; }
(export TERM=dumb && on_terminal 80 $slow)
! grep -q '^\[[#.]*\]' "$SCRATCH/out" || { echo 'progress on a dumb terminal'; exit 1; }
