# Options that leave the split of the recipe as it is leave its layout, too.
python scripts/performance/setup_experiment.py -m deepseek -mr deepseek_v3 --gpu gb200 --num_gpus 256 --gpus_per_node 4 \
    --compute_dtype bf16 --pipeline_model_parallel_size 4 --virtual_pipeline_model_parallel_size 4
