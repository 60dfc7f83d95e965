# Samples of many lengths: bounds lose nothing, a plan read back is the same, and text, JSON and CSV agree.
set -eu
ask() { "$ASTRA" "$@" --model llama3-8b --seq-len 4096 --global-batch 32; }
number() { sed -nE "s/^ *\"$1\": ([0-9.e+-]+),?\$/\1/p" "$2" | head -n 1; }
steps() { ask search --cluster 1x8:A100 --top 3 --format csv "$@" | cut -d, -f 1-20,45-70 | sed 3q; }

for data in "uniform:512..4096 --packing on" "uniform:512..4096" "lognormal:800,0.9 --padding seq-len"; do
    # shellcheck disable=SC2086
    steps --lengths $data >"$SCRATCH/bounded"
    # shellcheck disable=SC2086
    steps --lengths $data --exhaustive >"$SCRATCH/all"
    diff "$SCRATCH/bounded" "$SCRATCH/all" || { echo "--lengths $data: bounds lose plans"; exit 1; }
done

ask search --cluster 1x8:H100 --lengths uniform:512..4096 --packing on --samples 20K --epochs 2 --format json \
    >"$SCRATCH/search.json"
"$ASTRA" estimate "$SCRATCH/search.json" --format json >"$SCRATCH/again.json"
for figure in step_s samples_per_s hours_per_epoch spare_bytes hours samples_per_sequence late_s; do
    a=$(number $figure "$SCRATCH/search.json") b=$(number $figure "$SCRATCH/again.json")
    [ -n "$a" ] && [ "$a" = "$b" ] || { echo "$figure is $a of the search and $b read back"; exit 1; }
done
speed=$(printf %.1f "$(number samples_per_s "$SCRATCH/again.json")")
"$ASTRA" estimate "$SCRATCH/search.json" >"$SCRATCH/text"
grep -q "samples   *$speed samples/s, .* an epoch" "$SCRATCH/text" || { cat "$SCRATCH/text"; exit 1; }
grep -q "GiB to spare" "$SCRATCH/text"
"$ASTRA" estimate "$SCRATCH/search.json" --format csv | awk -F, -v speed="$speed" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "samples_per_s") at = i }
    NR == 2 { exit sprintf("%.1f", $at) != speed }' || { echo "no $speed samples/s in the CSV"; exit 1; }

# A file of as many lines is the distribution.
i=512
while [ $i -le 4096 ]; do echo "{\"length\": $i}"; i=$((i + 7)); done >"$SCRATCH/lengths.jsonl"
ask search --cluster 1x8:H100 --lengths "$SCRATCH/lengths.jsonl" --packing on --format json >"$SCRATCH/file.json"
a=$(number tokens_per_sample "$SCRATCH/file.json")
[ "${a%.*}" = 2304 ] || { echo "samples of $a tokens, expected 2304"; exit 1; }

# What a plan is written for does its samples justice, or its flags say that they are for timing alone.
plan_of() { "$ASTRA" search --model llama3-8b --cluster 1x8:H100 --seq-len 4096 --lengths uniform:512..2048 "$@"; }
says() { grep -q -e "$1" "$SCRATCH/said" || { echo "no '$1': $(cat "$SCRATCH/said")"; exit 1; }; }
exported() { # FORMAT and options of the search
    to=$1; shift
    plan_of "$@" --format json >"$SCRATCH/plan.json"
    "$ASTRA" export "$SCRATCH/plan.json" --to "$to" >"$SCRATCH/said"
}
plan_of --packing on >"$SCRATCH/said" && says "Only for timing: pretrain_gpt.py fills every sequence"
exported torchrun --packing on && says "# Not for training, only for timing: pretrain_gpt.py fills every sequence, it packs no samples"
exported torchrun --task dpo --reference none && says "not on pairs of answers (DPO)"
exported swift --train lora:r=8 --packing on && says "--packing true"
exported bridge --train lora:r=8 --packing on && says "dataset.offline_packing_specs.packed_sequence_size=4096"
exported bridge --train lora:r=8
if grep -e packing -e timing "$SCRATCH/said"; then exit 1; fi
exported accelerate --engine fsdp2 && says "--packing false"
exported accelerate --engine zero3 --packing on && says "--packing_strategy bfd"
exported accelerate --engine zero3 --task reward && says "not on pairs of answers (reward model)"
