launch script, program train.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 576
--decoder-seq-length 2048
--max-position-embeddings 4096
--micro-batch-size 1
--swiglu
--bf16
--patch-dim 14
--img-h 336
--img-w 336
--vocab-size 32768
--seq-length 2048
note: --decoder-seq-length: every sample is planned so long, which is the most it may be: shorter ones take less where they are not padded
note: line 4: --language-model-type: the language model of this name runs SwiGLU and rotary embeddings unfused, which are planned fused: time and memory are a few percent too low
note: line 5: --freeze-LM: the decoder is planned trained, not frozen: time and memory are too high
note: a vision or audio model stands beside the decoder and is left out: time and memory are too low (--freeze-ViT, --disable-vision-class-token, --pixel-shuffle)
