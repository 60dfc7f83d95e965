launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--cp-comm-type a2a
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--group-query-attention
--num-query-groups 4
--tensor-model-parallel-size 2
--context-parallel-size 4
--seq-length 32768
--max-position-embeddings 32768
--micro-batch-size 1
--vocab-size 32000
--bf16
note: --context-parallel-algo ulysses_cp_algo: MindSpeed repeats the key-value heads, 2 of a rank, for the 4 ranks of the context, which Megatron's rules refuse: it runs there, and sends more than is planned
note: left out, no effect on time or memory: --use-fused-rmsnorm
