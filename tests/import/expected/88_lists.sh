launch script, program -, line 13, 0 GPUs (0 x 0)
--num-layers 28
--hidden-size 3584
--ffn-hidden-size 18944
--num-attention-heads 28
--swiglu
--seq-length 4096
--max-position-embeddings 4096
--adam-beta2 0.999
--tokenizer-model Qwen/Qwen2.5-Math-7B
--tensor-model-parallel-size 2
--use-mcore-models
--adam-beta2 0.95
--bf16
--micro-batch-size 2
--global-batch-size 512
note: nothing is started: the flags of MODEL_OPTIONS, COMMON_OPTIONS and ENV_DEPENDENT are planned, with Megatron's defaults for the rest
