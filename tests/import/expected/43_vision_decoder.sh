launch script, program train.py, line 2, 8 GPUs (1 x 8)
--num-layers 32
--hidden-size 4096
--ffn-hidden-size 14336
--num-attention-heads 32
--group-query-attention
--num-query-groups 8
--vocab-size 32768
--swiglu
--seq-length 576
--decoder-seq-length 2048
--max-position-embeddings 4096
--img-h 336
--img-w 336
--patch-dim 14
--tensor-model-parallel-size 4
--micro-batch-size 1
--global-batch-size 128
--bf16
--seq-length 2048
note: line 5: --vision-model-type: only the decoder is planned: the vision model and its tokens are left out
note: left out, no effect on time or memory: --freeze-ViT
