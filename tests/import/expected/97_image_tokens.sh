launch script, program train.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--bf16
--position-embedding-type rope
--patch-dim 14
--img-h 336
--img-w 336
--seq-length 2624
--max-position-embeddings 2624
note: the decoder is planned over 2048 tokens of text and 576 of the image (-- --seq-length N)
note: line 5: --language-model-type: the language model of this name runs SwiGLU and rotary embeddings unfused, which are planned fused: time and memory are a few percent too low
note: a vision or audio model stands beside the decoder and is left out: time and memory are too low (--disable-vision-class-token, --freeze-ViT)
