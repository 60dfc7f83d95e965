launch script, program finetune_huggingface_llama.py, line 3, 8 GPUs (1 x 8)
--num-layers 32
--hidden-size 4096
--num-attention-heads 32
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--bf16
note: line 3: --transformer-type: the model is that of a Hugging Face checkpoint: what the flags do not say of it (gated MLP, its width, norms) is planned as Megatron's; --model NAME states it
note: left out, no effect on time or memory: --patch-tokenizer-type
