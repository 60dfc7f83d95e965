# YAML files: what we export is read back as the same plan, what YAML is is seen from its content, nothing outside the
# folder is opened, and a file that is broken or hostile is refused quickly with a line.
set -eu
"$ASTRA" estimate tests/golden/files/plan.json --format csv | cut -d, -f2- >"$SCRATCH/plan.csv"
for to in k8s pytorchjob skypilot flagscale; do
    "$ASTRA" export tests/golden/files/plan.json --to $to >"$SCRATCH/$to.yaml"
    "$ASTRA" estimate "$SCRATCH/$to.yaml" --cluster 8x8:H100 --format csv | cut -d, -f2- |
        diff "$SCRATCH/plan.csv" -
done
for to in k8s pytorchjob skypilot; do # these say how many GPUs there are
    "$ASTRA" estimate "$SCRATCH/$to.yaml" --gpu H100 --format csv | cut -d, -f2- |
        diff "$SCRATCH/plan.csv" -
done
"$ASTRA" estimate tests/golden/files/mixed.json --format csv | cut -d, -f2- >"$SCRATCH/mixed.csv"
"$ASTRA" export tests/golden/files/mixed.json --to flagscale >"$SCRATCH/mixed.yaml"
"$ASTRA" estimate "$SCRATCH/mixed.yaml" --cluster 2x8:A100,1x8:H100 --format csv | cut -d, -f2- |
    diff "$SCRATCH/mixed.csv" -

refused() { # FILE MESSAGE
    code=0
    "$ASTRA" estimate "$1" --cluster 8x8:H100 >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] && grep -q "$2" "$SCRATCH/err" || { cat "$SCRATCH/err"; exit 1; }
}

# Broken YAML has YAML's message, a script the shell's.
printf 'model:\n  num_layers: [1, 2\n  x: (y\n' >"$SCRATCH/a"
refused "$SCRATCH/a" 'a:3:4: not YAML'
printf '# a comment\nkey: f() {\n' >"$SCRATCH/b"
refused "$SCRATCH/b" 'b: no training is described'
printf 'f(\nA: b\n' >"$SCRATCH/c"
refused "$SCRATCH/c" 'lacks its )'
printf '{{- if .Values.train }}\nkind: Job\n' >"$SCRATCH/d"
refused "$SCRATCH/d" 'a template: fill it in first'
printf 'MODEL_ARGS:\n  --num-layers: 2\nMODE: inference\n' >"$SCRATCH/e"
refused "$SCRATCH/e" 'it generates text and trains nothing'
printf 'modules:\n  pre_trainer:\n    framework: torchtitan\n    model: llama3_8B.yaml\n' >"$SCRATCH/f"
refused "$SCRATCH/f" 'f:2: the framework torchtitan is not planned'

# Aliases of aliases, deep nests, a long file: an answer at once.
{
    echo 'a0: &a0 [x]'
    for i in 1 2 3 4 5 6 7 8 9; do
        p=$((i - 1))
        echo "a$i: &a$i [*a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p]"
    done
} >"$SCRATCH/laughs"
refused "$SCRATCH/laughs" 'more than 500000 values when aliases'
{ printf 'a: '; head -c 10000 /dev/zero | tr '\0' '['; } >"$SCRATCH/deep"
refused "$SCRATCH/deep" 'nested deeper than 64 levels'
{ printf 'a: '; head -c 2000000 /dev/zero | tr '\0' x; } >"$SCRATCH/long"
refused "$SCRATCH/long" 'YAML of more than 1 MiB describes no training'

# A file outside the folder is not opened, also not behind a link.
mkdir -p "$SCRATCH/in/train" "$SCRATCH/outer"
cat >"$SCRATCH/outer/secret.yaml" <<'END'
model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 64, vocab_size: 256}
system: {bf16: true}
END
ln -s ../../outer/secret.yaml "$SCRATCH/in/train/link.yaml"
cp "$SCRATCH/outer/secret.yaml" "$SCRATCH/in/train/open.yaml"
for name in link open; do
    printf 'defaults:\n  - train: %s\nexperiment:\n  task: {type: train}\n' $name >"$SCRATCH/in/$name.x"
done
"$ASTRA" estimate "$SCRATCH/in/open.x" --cluster 1x8:H100 >"$SCRATCH/out"
refused "$SCRATCH/in/link.x" 'the file that its defaults name is not in its folder'
printf 'defaults:\n  - train: ../../outer/secret\nexperiment:\n  task: {type: train}\n' >"$SCRATCH/in/up.x"
refused "$SCRATCH/in/up.x" 'the file that its defaults name is not in its folder'

# A named model, changed by what stands beside it.
"$ASTRA" estimate tests/import/52_primus.yaml --cluster 1x8:H100 --env TP=1 >"$SCRATCH/out" || :
grep -q 'A model of 8.03B parameters' "$SCRATCH/out"
"$ASTRA" estimate tests/import/61_primus_off.yaml --cluster 8x8:H100 >"$SCRATCH/out" || :
grep -q '(688B parameters)\|of 688B parameters' "$SCRATCH/out" # deepseek-v3 with plain attention: 671B + 61 x 283M
printf 'model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 64, vocab_size: 256}\nsystem: {lora_rank: 0, bf16: 1}\n' >"$SCRATCH/rank"
"$ASTRA" estimate "$SCRATCH/rank" --cluster 1x8:H100 >"$SCRATCH/out"
sed 's/lora_rank: 0/lora_rank: 8/' "$SCRATCH/rank" >"$SCRATCH/rank8"
refused "$SCRATCH/rank8" 'adapters (LoRA)'
