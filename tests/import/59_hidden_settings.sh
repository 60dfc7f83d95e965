# What a command prints may be settings: then nothing is planned.
SETTINGS="model.tensor_model_parallel_size=4
model.pipeline_model_parallel_size=2"
CMD="python run_recipe.py --recipe gpt_oss_20b_sft_config"
CMD="$CMD $(echo "$SETTINGS" | sed 's/  */ /g')"
srun bash -c "$CMD train.train_iters=10 $EXTRA"
