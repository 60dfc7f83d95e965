launch script, program posttrain_gpt.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 4096
--max-position-embeddings 4096
--vocab-size 32000
--micro-batch-size 1
--bf16
note: line 4: --no-pad-to-seq-lengths: every sequence is planned with --seq-length tokens, the longest there are: batches are padded to their own longest sample, so time and memory of most steps are too high
note: left out, no effect on time or memory: --stage
