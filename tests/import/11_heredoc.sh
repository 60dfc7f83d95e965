#!/bin/bash
cat > config.json <<JSON
{ "num-layers": 1, 'torchrun pretrain_gpt.py --num-layers 99 --hidden-size 1 --bf16 }
JSON
cat <<-'END'
	torchrun pretrain_gpt.py --num-layers 98 --hidden-size 1 --num-attention-heads 1
	END
read -r -d '' NOTE <<X
it's not closed here "
X
( cd data && python tools/preprocess_data.py --input a.jsonl --vocab-size 5 --bf16 --seq-length 4 )
for step in 1; do
  torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 12 --hidden-size 768 \
     --num-attention-heads 12 --seq-length $(( 1 << 10 )) --max-position-embeddings 1024 \
     --vocab-size 50304 --bf16 --micro-batch-size $step --global-batch-size 16 <<< "yes" &> out.log &
done
wait
