launch script, program pretrain_gpt.py, line 32, 8 GPUs (1 x 8)
--num-layers 16
--hidden-size 2048
--ffn-hidden-size 8192
--num-attention-heads 32
--group-query-attention
--num-query-groups 8
--kv-channels 64
--seq-length 8192
--max-position-embeddings 131072
--position-embedding-type rope
--normalization RMSNorm
--swiglu
--disable-bias-linear
--vocab-size 128256
--bf16
--micro-batch-size 1
--global-batch-size 32
--tensor-model-parallel-size 2
--context-parallel-size 2
--sequence-parallel
--use-distributed-optimizer
--overlap-grad-reduce
--overlap-param-gather
--tokenizer-type HuggingFaceTokenizer
open: tests/import/08_env_detection.sh:30: --tokenizer-model is ${TOKENIZER:?needs a tokenizer}, which is not set: give --env TOKENIZER=VALUE
open: tests/import/08_env_detection.sh:15: --data-args-path may be in ${DATA_ARGS}, which depends on the condition in line 15: give --env DATA_ARGS=VALUE
open: tests/import/08_env_detection.sh:15: --mock-data may be in ${DATA_ARGS}, which depends on the condition in line 15: give --env DATA_ARGS=VALUE
note: line 15: left out: what is not known of ${DATA_ARGS}, which depends on the condition in line 15
