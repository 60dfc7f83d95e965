# MindSpeed's packed sub-sequences; a model built from a checkpoint's own config, whose flags say less than that.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 32768 --max-position-embeddings 32768 --micro-batch-size 1 --vocab-size 32000 --bf16 \
    --fix-sub-seq-length 4096 --use-bridge --use-mpi --rank 0 --use_dualpipev --stage dpo --model-provider mine
