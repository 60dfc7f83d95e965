launch script, program pretrain_gpt.py, line 8, 8 GPUs (1 x 8)
--attention-backend unfused
--use-distributed-optimizer
--num-layers 4
--hidden-size 512
--num-attention-heads 8
--seq-length 1024
--max-position-embeddings 1024
--micro-batch-size 1
--global-batch-size 8
--vocab-file gpt2-vocab.json
--merge-file merges.txt
--fp16
--no-masked-softmax-fusion
note: --global-batch-size is 8, DeepSpeed's train_batch_size is 16: the flag counts
note: curriculum_learning.enabled of DeepSpeed's settings: every sequence is planned at full length: steps of the curriculum are shorter
note: activation_checkpointing.cpu_checkpointing of DeepSpeed's settings: saved activations are planned on the GPU: memory is too high
note: zero_optimization.zero_quantized_gradients of DeepSpeed's settings: gradients are planned to travel in 16 bits: a step may be shorter
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --deepspeed, --deepspeed_config
