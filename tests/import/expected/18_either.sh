launch script, program pretrain_gpt.py, line 7, 8 GPUs (1 x 8)
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--tensor-model-parallel-size 2
open: tests/import/18_either.sh:4: --fp8-format may be in ${ARGS}, which depends on the condition in line 4: give --env ARGS=VALUE
open: tests/import/18_either.sh:5: --load may be in ${LOAD}, which depends on the condition in line 5: give --env LOAD=VALUE
note: line 4: left out: what is not known of ${ARGS}, which depends on the condition in line 4
note: line 5: left out: what is not known of ${LOAD}, which depends on the condition in line 5
