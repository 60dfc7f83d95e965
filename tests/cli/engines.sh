# Plans of transformers' engines are read back from their own words: the same step, bit for bit, and the same memory.
set -eu
fault() { echo "$*"; exit 1; }

trip() { # ENGINE and options of the search
    engine=$1; shift
    "$ASTRA" search --engine "$engine" "$@" --format json >"$SCRATCH/found"
    "$ASTRA" estimate "$SCRATCH/found" --format json >"$SCRATCH/read" 2>/dev/null
    for what in .step_s .strategy .stages .expected_error .engine; do
        jq -S ".best[0] | $what" "$SCRATCH/found" >"$SCRATCH/a"
        jq -S "$what" "$SCRATCH/read" >"$SCRATCH/b"
        cmp -s "$SCRATCH/a" "$SCRATCH/b" || fault "$engine $*: $what is another: $(cat "$SCRATCH/b")"
    done
}
for engine in fsdp2 zero2 zero3; do
    trip $engine --model qwen2.5-7b --cluster 2x8:H100
    trip $engine --model llama3-8b --cluster 1x8:4090 --seq-len 2048 --train lora:r=8,targets=qkv,proj
    trip $engine --model llama3.2-1b --cluster 1x1:4090 --seq-len 1024 --set liger=on
done
trip fsdp2 --model llama3-8b --cluster 4x8:H100 --set optimizer_instances=4,sync_each=off
trip fsdp2 --model llama3-8b --cluster 1x8:A100 --set pure_bf16=on,reshard=off

# The script that --to accelerate writes starts the plan: what it launches is read as the same step.
mkdir "$SCRATCH/bin" "$SCRATCH/run"
cat >"$SCRATCH/bin/accelerate" <<'END'
#!/bin/sh
printf 'accelerate\n' >words
printf '%s\n' "$@" >>words
END
chmod +x "$SCRATCH/bin/accelerate"
for engine in fsdp2 zero2 zero3; do
    "$ASTRA" search --engine $engine --model qwen2.5-7b --cluster 2x8:H100 --train lora:r=8,targets=qkv,fc2 \
        --format json >"$SCRATCH/found"
    "$ASTRA" export "$SCRATCH/found" --to accelerate >"$SCRATCH/run/job.sh"
    (cd "$SCRATCH/run" && PATH=$SCRATCH/bin:$PATH DATASET=d NODE_RANK=0 MASTER_ADDR=a bash job.sh)
    read=$(cd "$SCRATCH/run" && xargs -d '\n' "$ASTRA" estimate --cluster 2x8:H100 --format json -- <words 2>/dev/null |
        jq '[.step_s, .strategy]')
    asked=$(jq '[.best[0] | .step_s, .strategy]' "$SCRATCH/found")
    [ "$read" = "$asked" ] || fault "$engine: the script launches another plan: $read"
    if "$ASTRA" export "$SCRATCH/found" --to slurm >/dev/null 2>&1; then fault "slurm took a plan of $engine"; fi
done
