# bigcode: one head of keys and values, and no ALiBi in Megatron.
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 40 --hidden-size 6144 \
    --num-attention-heads 48 --attention-head-type multiquery --init-method-std 0.01275 \
    --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 512 \
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel \
    --use-flash-attn --bf16 --position-embedding-type alibi --glu-activation geglu \
    --tokenizer-type TokenizerFromFile --tokenizer-file tokenizer.json --log-batch-size-to-tensorboard
