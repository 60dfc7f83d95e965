launch script, program pretrain_megatron_glm130b.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--quick-geglu
--num-layers 6
--hidden-size 1536
--num-attention-heads 16
--seq-length 512
--max-position-embeddings 512
--vocab-size 150528
--fp16
--ffn-hidden-size 4096
note: --DDP-impl: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --DDP-impl: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: pretrain_megatron_glm130b.py builds Pai-Megatron-Patch's own model, with a gated MLP of 8/3 of the width: what its code fixes (biases, norms, mask) is planned as the flags say
note: left out, no effect on time or memory: --DDP-impl
