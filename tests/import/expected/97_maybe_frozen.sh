launch script, program train.py, line 6, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 576
--decoder-seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--bf16
--img-h 336
--img-w 336
--patch-dim 14
--seq-length 2048
note: --decoder-seq-length: every sample is planned so long, which is the most it may be: shorter ones take less where they are not padded
note: line 3: left out: what is not known of ${EXTRA_ARGS} (it may hold --freeze-LM), which depends on the condition in line 3
note: line 8: --language-model-type: the language model of this name runs SwiGLU and rotary embeddings unfused, which are planned fused: time and memory are a few percent too low
