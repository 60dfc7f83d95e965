launch script, program pretrain_megatron_llama.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--bf16
--seq-length 512
note: --max-padding-length 512: samples are padded to it, and are planned so long (-- --seq-length N)
note: pretrain_megatron_llama.py builds Pai-Megatron-Patch's own model: what its code fixes (biases, norms, mask) is planned as the flags say
note: left out, no effect on time or memory: --max-padding-length
