launch script, program pretrain_gpt.py, line 8, 8 GPUs (1 x 8)
--moe-token-dispatcher-type alltoall
--multi-latent-attention
--cp-comm-type a2a
--normalization RMSNorm
--num-experts 64
--moe-router-topk 6
--moe-ffn-hidden-size 1408
--moe-layer-freq 1
--qk-pos-emb-head-dim 64
--qk-head-dim 128
--kv-lora-rank 512
--v-head-dim 128
--num-layers 27
--hidden-size 2048
--ffn-hidden-size 10944
--num-attention-heads 16
--pipeline-model-parallel-size 4
--tensor-model-parallel-size 1
--context-parallel-size 2
--swiglu
--untie-embeddings-and-output-weights
--disable-bias-linear
--seq-length 4096
--vocab-size 102400
--micro-batch-size 1
--global-batch-size 64
--bf16
--transformer-impl local
--spec mindspeed_llm.specs.of_their_own layer_spec
--transformer-impl transformer_engine
--moe-shared-expert-intermediate-size 2816
--moe-layer-freq [0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
--pipeline-model-parallel-layout Et*6|t*7|t*7|t*7L
note: --spec mindspeed_llm.specs.of_their_own: its layers are planned as Megatron's, which may be others
note: --transformer-impl local: MindSpeed's fused layers are planned as TransformerEngine's
note: line 13: --swap-attention: activations are planned on the GPU: memory is too high
note: line 13: --reuse-fp32-param: 16-bit weights are planned beside the fp32 ones: memory is too high by 2 bytes a parameter
note: line 2: --moe-permutation-async-comm: tokens are planned to be sorted before they travel, not meanwhile: a step may be shorter
note: left out, no effect on time or memory: --norm-topk-prob, --use-fused-rmsnorm, --use-fused-swiglu, --tokenizer-name-or-path
note: not known and left out, may change the model's shape: --moe-layer-freq-list
