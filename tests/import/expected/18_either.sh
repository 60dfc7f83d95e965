launch script, program pretrain_gpt.py, line 7, 8 GPUs (1 x 8)
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
open: tests/import/18_either.sh:4: --fp8-format may be in ${ARGS}, which depends on the condition in line 4: give --env ARGS=VALUE
open: tests/import/18_either.sh:5: --load may be in ${LOAD}, which depends on the condition in line 5: give --env LOAD=VALUE
open: tests/import/18_either.sh:7: --tensor-model-parallel-size may be in ${SIZE%% *}, which is not worked out
note: line 4: left out: what is not known of ${ARGS}, which depends on the condition in line 4
note: line 5: left out: what is not known of ${LOAD}, which depends on the condition in line 5
note: line 7: left out: what is not known of ${SIZE%% *}, which is not worked out
note: words that belong to no flag are left out: '2'
