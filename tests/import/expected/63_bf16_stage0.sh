launch script, program pretrain_gpt.py, line 6, 16 GPUs (2 x 8)
--use-distributed-optimizer
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--bf16
--vocab-size 50257
--global-batch-size 256
note: bf16 with ZeRO stage 0: DeepSpeed's optimizer for bf16 is sharded all the same, which is planned as stage 1
note: line 8: --deepspeed: layers are planned as TransformerEngine's, with fused attention: without that they take more time and memory
note: left out, no effect on time or memory: --deepspeed_config
