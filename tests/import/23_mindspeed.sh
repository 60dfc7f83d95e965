# MindSpeed-LLM: experts behind dense layers, stages of different length, words of its own.
MOE_ARGS="
    --num-experts 64 --moe-router-topk 6 --moe-intermediate-size 1408 --n-shared-experts 2
    --first-k-dense-replace 1 --moe-layer-freq 1 --moe-token-dispatcher-type alltoall_seq
    --moe-permutation-async-comm --norm-topk-prob
"
MLA_ARGS="--multi-head-latent-attention --qk-rope-head-dim 64 --qk-nope-head-dim 128 --kv-lora-rank 512 --v-head-dim 128"
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py $MOE_ARGS $MLA_ARGS \
    --num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 --num-attention-heads 16 \
    --num-layer-list 6,7,7,7 --pipeline-model-parallel-size 4 --tensor-model-parallel-size 1 \
    --context-parallel-size 2 --context-parallel-algo ulysses_cp_algo --normalization rmsnorm --swiglu \
    --untie-embeddings-and-output-weights --disable-bias-linear --seq-length 4096 \
    --use-fused-rmsnorm --use-fused-swiglu --swap-attention --reuse-fp32-param \
    --vocab-size 102400 --micro-batch-size 1 --global-batch-size 64 --bf16 --tokenizer-name-or-path ./model_from_hf \
    --moe-layer-freq-list --transformer-impl local --spec mindspeed_llm.specs.of_their_own layer_spec
