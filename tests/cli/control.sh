# What inputs say never steers a terminal: control characters of names, values and files are shown,
# not sent, by every command, in messages and in text.
set -eu
esc=$(printf '\033')
red=$(printf 'a\033[31mb\302\233c\233d')
cd "$SCRATCH"
cp "$OLDPWD/data/models/llama3-8b.json" "$red.json"
printf 'reject tp == 2 "no %s"\n' "$red" >rules
printf 'reject t%s == 2\n' "$red" >bad.rules
printf 'groups:\n  - gpu: "H%s"\n    nodes: 1\n' "$red" >pool.yaml
printf 'torchrun pretrain_gpt.py --num-layers %s\n' "$red" >job.sh
printf 'gpu,%s\n' "$red" >prices.csv
printf '{"model_type": "%s"}' 'x\u001b[31m' >config.json

quiet() { # COMMAND ...
    "$ASTRA" "$@" >out 2>err || [ $? -le 3 ]
    for file in out err; do
        if LC_ALL=C grep -q "$esc\|$(printf '\233')" $file; then
            echo "astra $*: a control character in $file:"
            cat -v $file
            exit 1
        fi
    done
}
pool="--cluster 1x8:H100 --global-batch 8"
quiet "$red"
quiet help "$red"
for command in search estimate explain export gpus models prices calibrate verify fit man completions; do
    quiet $command "$red"
    quiet $command "--$red"
    quiet $command --cluster "$red"
    quiet $command --model "$red"
done
quiet search --model "$red.json" $pool --rules rules --top 1 --stats
quiet estimate --model "$red.json" $pool --set tp=2 --rules rules
quiet explain --model "$red.json" $pool --set tp=2 --rules rules
quiet search --model llama3-8b $pool --rules bad.rules
quiet search --model llama3-8b --cluster pool.yaml
quiet search --model llama3-8b $pool --prices prices.csv
quiet search --model llama3-8b $pool --what-if "$red=1"
quiet search --model llama3-8b $pool --set "tp=$red"
quiet search --model config.json $pool
quiet estimate $pool job.sh
quiet estimate $pool -- --num-layers "$red"
quiet estimate $pool --env "$red=1" job.sh
quiet export --model llama3-8b $pool --to slurm --job-name "$red"
"$ASTRA" "$red" 2>&1 | grep -qF 'a\x1b[31mb\xc2\x9bc\x9bd' || { echo "not shown"; exit 1; }
