#!/bin/bash
# Settings are sourced, the job is another script, which writes a third one and runs that.
export NODES=2 TP=2
source "$(dirname "$0")/models/small.sh"
export MODEL_ARGS_TEXT="${MODEL_ARGS[*]} --seq-length $SEQ"
sbatch --nodes=$NODES models/job.sh 64
