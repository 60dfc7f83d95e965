launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 32768
--max-position-embeddings 32768
--micro-batch-size 1
--vocab-size 32000
--bf16
note: line 4: --fix-sub-seq-length: attention is planned over the whole sequence, not within sub-sequences of this length: a step may be much shorter
note: line 4: --use-bridge: the model is built from the config.json of a checkpoint, which is not read: what the flags leave out is planned by defaults of Megatron (--model PATH/config.json plans it)
note: line 4: --use-dualpipev: the pipeline is planned as 1F1B: its idle time is too long
note: line 4: --stage: a sample is two sequences, and a reference model reads both: neither is planned, and a step takes more than twice as long
note: line 4: --model-provider: the model is built by this name, and may be other than the flags describe: their decoder is planned trained, also where it is frozen, which needs far less memory; encoders are left out
note: left out, no effect on time or memory: --use-mpi, --rank
