# What is there to be filled in is a word, also in a text for a shell; real redirections stay.
options=" --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \
    --micro-batch-size 4 --vocab-file <PATH TO gpt-vocab.json> --merge-file <path/to/merges> --tensorboard-dir <TENSORBOARD DIRECTORY> \
    --fp16 --recompute-method uniform --recompute-granularity full --data-impl mmap"
srun -l sh -c "python -u pretrain_gpt.py ${options} <input.txt >log.txt"
