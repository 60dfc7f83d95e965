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
for name in train.sh llama2-7b.sh llama2_6.7B_tp2.sh 6b7.sh 6point7b.sh moe-70b-a7b-7b.sh 4k_8x7b.sh mixtral_8x22B_v0.1.sh job_16bit.sh 7b.13b.sh qwen_0_6b.sh; do
    [ -z "$(doubted "$name")" ] || { echo "$name is doubted"; exit 1; }
done
[ -z "$(doubted 6-7B.yml)" ] || { echo "a size in front with - for a point is doubted"; exit 1; }
[ "$(doubted 2-8B.yml)" = "2-8B 6.74B" ]
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
grep -q 'mxfp8 runs on GPUs of compute capability 10.x' "$SCRATCH/out"

# What reads a tokenizer's file reads others too: a file with a name of its own leaves the vocabulary open.
assumed() { # FLAGS: the vocabulary and its share of the error
    printf 'torchrun pretrain_gpt.py %s %s\n' "$(echo "$flags" | sed 's/--vocab-size 32000//')" "$1" >"$SCRATCH/vocab.sh"
    "$ASTRA" estimate "$SCRATCH/vocab.sh" --cluster 1x8:H100 | sed -n 's/.*assumed: vocab \([0-9]*\),.*adds ±\([0-9]* %\).*/\1 \2/p'
}
[ "$(assumed '--tokenizer-type Llama2Tokenizer --tokenizer-model /data/tokenizer.model')" = "32000 1 %" ]
[ "$(assumed '--tokenizer-type Llama2Tokenizer --tokenizer-model /data/ours_v4.model')" = "32000 5 %" ]
[ "$(assumed '--tokenizer-type Llama2Tokenizer --tokenizer-model $HOME/llm-jp-tokenizer-100k.ver3.model')" = "99584 1 %" ]
[ "$(assumed '--tokenizer-type HuggingFaceTokenizer --tokenizer-model /data/ours_v4')" = "128256 5 %" ]
[ "$(assumed '--tokenizer-type GPT2BPETokenizer --vocab-file /data/nordic_tokenizer_131072/vocab.json')" = "131072 1 %" ]
[ "$(assumed '--tokenizer-type HuggingFaceTokenizer --tokenizer-model ours/test_150k_vocab')" = "150000 1 %" ]

# The last tokenizer counts: the file's, not that of the model it names.
printf 'modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: qwen3_8B.yaml\n    overrides: {tokenizer_model: meta-llama/Llama-3.1-8B}\n' >"$SCRATCH/primus.yaml"
"$ASTRA" estimate "$SCRATCH/primus.yaml" --cluster 1x8:H100 >"$SCRATCH/out" || [ $? -eq 1 ]
grep -q "assumed: vocab 128256, because a name has 'llama3' in it" "$SCRATCH/out"

# FlagScale's folders name the model, which may be no decoder.
mkdir -p "$SCRATCH/rwkv/conf/train" "$SCRATCH/mine/conf/train"
printf 'system: {tensor_model_parallel_size: 1, precision: {bf16: true}}\nmodel: {num_layers: 4, hidden_size: 256, num_attention_heads: 4, seq_length: 512, max_position_embeddings: 512, micro_batch_size: 1, global_batch_size: 8, vocab_size: 1024}\n' |
    tee "$SCRATCH/rwkv/conf/train/a.yaml" >"$SCRATCH/mine/conf/train/a.yaml"
"$ASTRA" estimate "$SCRATCH/mine/conf/train/a.yaml" --cluster 1x8:H100 >/dev/null
"$ASTRA" estimate "$SCRATCH/rwkv/conf/train/a.yaml" --cluster 1x8:H100 2>"$SCRATCH/err" && exit 1
grep -q 'rwkv is not planned: a recurrent model' "$SCRATCH/err"

# NeMo: single precision is said and not planned, which is no silence; what a switch leaves off has no warning; the last
# precision counts.
cat >"$SCRATCH/nemo.yaml" <<'END'
trainer: {devices: 1, num_nodes: 1, precision: 32}
model: {micro_batch_size: 4, global_batch_size: 8, encoder_seq_length: 512, max_position_embeddings: 512, num_layers: 12,
    hidden_size: 768, ffn_hidden_size: 3072, num_attention_heads: 12, cpu_offloading: False, cpu_offloading_num_layers: 11}
END
"$ASTRA" estimate "$SCRATCH/nemo.yaml" --cluster 7x7:H100 >"$SCRATCH/out"
grep -q 'assumed: precision bf16, because the file.s single precision is not planned: .*adds ±10 %' "$SCRATCH/out"
grep -q 'planned on the GPU that the file names: .* into the 49 of the cluster' "$SCRATCH/out"
[ "$(grep -c -e offloading -e 'nothing says the precision' "$SCRATCH/out")" -eq 0 ]
sed 's/cpu_offloading: False/cpu_offloading: True/; s/precision: 32/precision: bf16/' "$SCRATCH/nemo.yaml" >"$SCRATCH/on.yaml"
"$ASTRA" estimate "$SCRATCH/on.yaml" --gpu H100 >"$SCRATCH/out"
grep -q -e '--cpu-offloading: activations are planned on the GPU' "$SCRATCH/out"
grep -q -e '--cpu-offloading-num-layers: activations are planned on the GPU' "$SCRATCH/out"
[ "$(grep -c 'assumed: precision' "$SCRATCH/out")" -eq 0 ]
settings='trainer.devices=8 trainer.num_nodes=1 model.micro_batch_size=1 model.global_batch_size=8 model.num_layers=12
    model.hidden_size=768 model.num_attention_heads=12 model.encoder_seq_length=512 model.max_position_embeddings=512'
echo "python megatron_gpt_pretraining.py trainer.precision=bf16 $(echo $settings) model.cpu_offloading=False trainer.precision=32" |
    "$ASTRA" estimate - --gpu H100 >"$SCRATCH/out"
grep -q 'assumed: precision bf16, because the file.s single precision' "$SCRATCH/out"
[ "$(grep -c offloading "$SCRATCH/out")" -eq 0 ]
