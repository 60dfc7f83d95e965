# A file whose name speaks of another size than its flags describe says so; sizes that agree, or are none, say nothing.
set -eu
flags='--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --swiglu --normalization RMSNorm
    --untie-embeddings-and-output-weights --disable-bias-linear --position-embedding-type rope --seq-length 4096
    --max-position-embeddings 4096 --vocab-size 32000 --bf16 --tensor-model-parallel-size 2'
flags=$(echo $flags) # 6.74B parameters
doubted() {
    printf 'torchrun pretrain_gpt.py %s\n' "$flags" >"$SCRATCH/$1"
    "$ASTRA" estimate "$SCRATCH/$1" --cluster 1x8:H100 >"$SCRATCH/out"
    sed -n "s/^  - the file's name says \([^ ]*\), its flags describe \([^ ]*\) parameters.*/\1 \2/p" "$SCRATCH/out"
}
for name in train.sh llama2-7b.sh llama2_6.7B_tp2.sh 6b7.sh 6point7b.sh moe-70b-a7b-7b.sh 4k_8x7b.sh job_16bit.sh 7b.13b.sh qwen_0_6b.sh; do
    [ -z "$(doubted "$name")" ] || { echo "$name is doubted"; exit 1; }
done
[ "$(doubted llama2-13b.sh)" = "13b 6.74B" ]
[ "$(doubted gpt-350M.sh)" = "350M 6.74B" ]
[ "$(doubted 2b5-and-70b.sh)" = "2b5 6.74B" ]
[ "$(doubted a7b-30b.sh)" = "30b 6.74B" ]

printf 'torchrun pretrain_gpt.py %s --use-checkpoint-args\n' "$flags" >"$SCRATCH/own.sh"
"$ASTRA" estimate "$SCRATCH/own.sh" --cluster 1x8:H100 >"$SCRATCH/out"
grep -q -e '- --use-checkpoint-args: what the flags leave out of the model is the checkpoint' "$SCRATCH/out"

# A recipe of one's own is planned as fp8, which is said; others as they are, where the GPU has them.
printf 'torchrun pretrain_gpt.py %s --fp8-format e4m3 --fp8-recipe custom --use-distributed-optimizer --tensor-model-parallel-size 4\n' "$flags" >"$SCRATCH/recipe.sh"
"$ASTRA" estimate "$SCRATCH/recipe.sh" --cluster 1x8:H100 >"$SCRATCH/out"
grep -q -e '- --fp8-recipe custom: planned as fp8 with one scale a tensor' "$SCRATCH/out"
sed 's/custom/tensorwise/' "$SCRATCH/recipe.sh" | "$ASTRA" estimate - --cluster 1x8:H100 >"$SCRATCH/out"
[ "$(grep -c 'one scale a tensor' "$SCRATCH/out")" -eq 0 ]
sed 's/custom/mxfp8/' "$SCRATCH/recipe.sh" | "$ASTRA" estimate - --cluster 1x8:B200 >"$SCRATCH/out"
grep -q 'tokens), mxfp8, stack te' "$SCRATCH/out"
sed 's/custom/mxfp8/' "$SCRATCH/recipe.sh" | "$ASTRA" estimate - --cluster 1x8:H100 >"$SCRATCH/out" 2>&1 && exit 1
grep -q 'mxfp8 runs on GPUs of compute capability 10.0' "$SCRATCH/out"
