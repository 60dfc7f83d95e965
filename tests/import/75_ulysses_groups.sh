# MindSpeed's Ulysses over more ranks than a rank has key-value heads.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --group-query-attention \
    --num-query-groups 4 --tensor-model-parallel-size 2 --context-parallel-size 4 --context-parallel-algo ulysses_cp_algo \
    --use-fused-rmsnorm --seq-length 32768 --max-position-embeddings 32768 --micro-batch-size 1 --vocab-size 32000 --bf16
