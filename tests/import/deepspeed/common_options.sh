COMMON_OPTIONS="--tensor-model-parallel-size 2 --use-mcore-models --adam-beta2 0.95 --bf16"
