launch script, program finetune_huggingface_llama.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--bf16
--transformer-impl transformer_engine
--seq-length 80
note: --max-padding-length 80: samples are padded to it, and are planned so long (-- --seq-length N)
note: left out, no effect on time or memory: --max-padding-length
