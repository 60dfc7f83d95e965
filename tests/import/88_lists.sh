# Nothing is started: three lists, one of them of a file beside it, which is found through a variable.
SCRIPT_PATH="${BASH_SOURCE[0]}"
HERE=$(cd "$(dirname $(realpath $SCRIPT_PATH))" && pwd)
source $HERE/deepspeed/common_options.sh
if [ "$(basename "$ENV_CONFIG")" = "dapo.yaml" ]; then
  TRAINING_BATCH_SIZE=${TRAINING_BATCH_SIZE:-1024}
else
  TRAINING_BATCH_SIZE=${TRAINING_BATCH_SIZE:-512}
fi
ENV_DEPENDENT=" \
  --micro-batch-size 2 \
  --global-batch-size $TRAINING_BATCH_SIZE "
MODEL_OPTIONS=" \
  --num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 --num-attention-heads 28 --swiglu \
  --seq-length 4096 --max-position-embeddings 4096 --adam-beta2 0.999 \
  --tokenizer-model Qwen/Qwen2.5-Math-7B "
SMALL_OPTIONS="--num-layers 12 --hidden-size 768 --num-attention-heads 12"
ALL_BUT_BATCH="$COMMON_OPTIONS"
