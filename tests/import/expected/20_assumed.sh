launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--num-layers 2
--hidden-size 64
--num-attention-heads 4
--seq-length 64
--max-position-embeddings 64
--tokenizer-type HuggingFaceTokenizer
--tokenizer-model /models/Meta-Llama-3-8B
--train-samples 220_000_000
--data-path first second
--seed 1
open: tests/import/20_assumed.sh:4: --lr is 'fast', expected a number
note: words that belong to no flag are left out: 'model'
