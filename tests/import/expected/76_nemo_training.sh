launch script, program main.py, line 2, 32 GPUs (4 x 8)
--bf16
--global-batch-size 2048
--tensor-model-parallel-size 2
--pipeline-model-parallel-size 1
--context-parallel-size 1
--encoder-seq-length 2048
--max-position-embeddings 2048
--num-layers 44
--hidden-size 6144
--ffn-hidden-size 24576
--num-attention-heads 48
--norm-epsilon 1e-5
--use-distributed-optimizer
--overlap-grad-reduce
--overlap-param-gather
--tokenizer-model gpt3/20b
--micro-batch-size 4
--grad-reduce-in-bf16
note: training=gpt3/20b of NeMo's launcher 26e42fa9 (2025-04-18): other releases may set other values
