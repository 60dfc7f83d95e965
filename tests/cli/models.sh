# Models by the names that others use, out of the local cache, with figures changed; longer sequences.
set -eu
fault() { echo "$*"; exit 1; }
export HF_HOME="$SCRATCH/hf"
first() { # MODEL ARGUMENTS...: the model's name and size
    model=$1
    shift
    "$ASTRA" estimate --model "$model" --cluster 1x8:H100 "$@" 2>"$SCRATCH/err" | sed -n 's/ parameters).*//p' | head -n 1
}
is() { # WANTED MODEL
    got=$(first "$2")
    [ "$got" = "$1" ] || fault "$2: '$got', expected '$1'; $(cat "$SCRATCH/err")"
}
is 'Llama-3.1-70B (70.6B' meta-llama/Llama-3.1-70B
is 'qwen3-235b-a22b (235B' Qwen/Qwen3-235B-A22B-Instruct-2507
is 'llama3-70b,max_seq=131072,layers=40 (36.3B' llama3-70b,max_seq=131072,layers=40
is 'qwen2.5-7b,layers=14 (4.35B' Qwen/Qwen2.5-7B,layers=14

# Any config.json of the cache: that of main, or the last there is; a preset is known before it.
snapshot() { # COMMIT LAYERS
    mkdir -p "$HF_HOME/hub/models--org--new/snapshots/$1"
    sed "s/\"num_hidden_layers\": *[0-9]*/\"num_hidden_layers\": $2/" data/models/llama3-8b.json \
        >"$HF_HOME/hub/models--org--new/snapshots/$1/config.json"
}
snapshot aa 10
snapshot bb 20
is 'new (5.41B' org/new
mkdir "$HF_HOME/hub/models--org--new/refs"
echo aa >"$HF_HOME/hub/models--org--new/refs/main"
is 'new (3.23B' org/new

refused() { # TEXT MODEL
    [ -z "$(first "$2")" ] && grep -qF "$1" "$SCRATCH/err" || fault "$2: $(cat "$SCRATCH/err")"
}
refused 'did you mean qwen3-235b-a22b?' qwen3-235b
refused 'did you mean layers?' llama3-8b,laiers=3
refused "unknown model 'org/other'" org/other
refused 'is not quite the preset mistral-7b' mistralai/Mistral-7B-v0.1

# Longer than the model's maximum: planned, and said; learned positions end where they end.
"$ASTRA" search --model llama3-8b --cluster 1x8:H100 --seq-len 32k --top 1 >"$SCRATCH/out"
grep -q 'the sequence of 32768 tokens is longer than the 8192 that llama3-8b was made for' "$SCRATCH/out" || fault "no note"
grep -q -- '--max-position-embeddings 32768' "$SCRATCH/out" || fault "the flags say another maximum"
! "$ASTRA" search --model gpt3-13b --cluster 1x8:H100 --seq-len 32k --top 1 >"$SCRATCH/out" 2>&1 || fault "learned positions"

# Llama 3.1 is Llama 3 with longer sequences and scaled rotary frequencies: 128K tokens need no note, and its flags say so.
"$ASTRA" search --model llama3.1-8b --seq-len 128k --cluster 1x8:H200 --top 1 >"$SCRATCH/long"
grep -q -- '--use-rope-scaling --rope-scaling-factor 8' "$SCRATCH/long"
! grep -q 'longer than' "$SCRATCH/long"
"$ASTRA" search --model llama3-8b --seq-len 128k --cluster 1x8:H200 --top 1 | grep -q 'longer than the 8192'
