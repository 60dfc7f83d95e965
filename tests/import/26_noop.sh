# MindSpeed-LLM: layers that do nothing fill up the stages; an address that lies beside.
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 16 --noop-layers 0,14,15 \
    --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --num-experts 8 \
    --first-k-dense-replace 2 --moe-layer-freq -1 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --vocab-size 256 \
    --bf16 --micro-batch-size 1 --global-batch-size 64 --fix-router \
    --tensor-model-parallel-size 2 --expert-model-parallel-size 2 --moe-tp-extend-ep --gelu-tanh --sequence-parallel
