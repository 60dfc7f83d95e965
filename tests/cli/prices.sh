# Where prices come from: SkyPilot's catalogs at every level of their folders, tables of the user,
# which of them wins, and that a search bills by them.
set -eu

catalogs=$SCRATCH/.sky/catalogs
header=InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region
mkdir -p "$catalogs/v7/aws" "$catalogs/v8/aws" "$catalogs/v10/lambda" "$catalogs/v8/azure"
printf '%s\np5.48xlarge,H100,8,80,40,us-east-1\n' $header >"$catalogs/v7/aws/vms.csv"
printf '%s\np5.48xlarge,H100,8,48,24,us-east-1\n' $header >"$catalogs/v8/aws/vms.csv"
printf '%s\ngpu_8x_h100_sxm5,H100,8,32,,us-west-1\n' $header >"$catalogs/v10/lambda/vms.csv"
printf '%s\nStandard_ND96isr_H100_v5,H100,12,80,80,eastus\n' $header >"$catalogs/v8/azure/vms.csv"

used() { # ARGUMENTS...: the price of an H100 in a search, and why
    HOME=$SCRATCH "$ASTRA" prices --gpu H100 "$@" | sed -n '/^What/,$s/^  H100-SXM5-80GB *8 *//p'
}
must() { # EXPECTED ARGUMENTS...
    want=$1
    shift
    got=$(used "$@")
    [ "$got" = "$want" ] || { echo "$*: $got, expected $want"; exit 1; }
}
three='6.0000  median of 3 providers ($4 to $10), on-demand, 8-GPU instances'
two='5.0000  median of 2 providers ($4 to $6), on-demand, 8-GPU instances'

# The newest version of each cloud; a cloud, a version, all of them, one file.
must "$three" --prices sky
must "$two" --prices sky:aws,lambda
must "$three" --prices "$catalogs"
must '8.0000  median of 2 providers ($6 to $10), on-demand, 8-GPU instances' --prices "$catalogs/v8"
must '10.0000  aws us-east-1 p5.48xlarge, on-demand' --prices "$catalogs/v7/aws"
must '10.0000  aws us-east-1 p5.48xlarge, on-demand' --prices "$catalogs/v7/aws/vms.csv"

# What counts: market, provider, region, the cheapest.
must '3.0000  aws us-east-1 p5.48xlarge, spot' --prices sky --market spot
must '10.0000  azure eastus Standard_ND96isr_H100_v5, on-demand' --prices sky --provider azure
must '6.0000  aws us-east-1 p5.48xlarge, on-demand' --prices sky --region us-east-1
must '4.0000  cheapest of 3 providers: lambda us-west-1 gpu_8x_h100_sxm5, on-demand' \
    --prices sky --offer cheapest

# Corrections of the user's own, on top of those that are built in.
printf 'cloud,instance,column,value,reason\naws,p5*,Price,drop,old\n' >"$SCRATCH/overrides.csv"
must '7.0000  median of 2 providers ($4 to $10), on-demand, 8-GPU instances' --prices sky \
    --price-overrides "$SCRATCH/overrides.csv"

# A later table wins for the GPUs it has; a rate may come behind the table that needs it.
printf 'provider,gpu,gpus,market,usd_per_gpu_hour,currency\nmine,H100,8,on-demand,2,EUR\n' \
    >"$SCRATCH/mine.csv"
must '2.5000  mine, on-demand' --prices sky --prices "$SCRATCH/mine.csv" --rate EUR=1.25
must "$three" --prices "$SCRATCH/mine.csv" --prices sky --rate EUR=1.25
must '6.5175  median of 8 providers ($3.29 to $12.29), on-demand, 8-GPU instances' --prices built-in

# What is written is read back: the same offers and the same choice.
HOME=$SCRATCH "$ASTRA" prices --prices sky --format csv -o "$SCRATCH/written.csv"
must "$three" --prices "$SCRATCH/written.csv"
"$ASTRA" prices --format csv -o "$SCRATCH/first.csv"
"$ASTRA" prices --prices "$SCRATCH/first.csv" --format csv | cmp - "$SCRATCH/first.csv"
"$ASTRA" prices --prices "$SCRATCH/first.csv" >"$SCRATCH/first.txt"
"$ASTRA" prices | cmp - "$SCRATCH/first.txt"

# Nothing there: the folder is named, and the clouds that are there.
mkdir "$SCRATCH/bare"
! HOME=$SCRATCH/bare "$ASTRA" prices --prices sky 2>"$SCRATCH/err" || exit 1
grep -q "^astra: $SCRATCH/bare/.sky/catalogs: SkyPilot's catalogs are not there" "$SCRATCH/err"
! HOME=$SCRATCH "$ASTRA" prices --prices sky:aws,gpc 2>"$SCRATCH/err" || exit 1
grep -q "there is no catalog of 'gpc'; there are lambda,aws,azure" "$SCRATCH/err"

# A search bills by it: 8 GPUs at 6 dollars; --price wins over every table.
bill() {
    HOME=$SCRATCH "$ASTRA" search --model llama3-8b --cluster 1x8:H100 --gpus 8 --top 1 \
        --format json "$@" | sed -n 's/^ *"usd_per_hour": \([^,]*\),$/\1/p' | sort -u
}
[ "$(bill --prices sky)" = 48.0 ] || { bill --prices sky; exit 1; }
[ "$(bill --prices sky --price H100=2)" = 16.0 ] || { bill --prices sky --price H100=2; exit 1; }
[ "$(bill --market spot --prices sky --price H100=2EUR --rate EUR=1.5)" = 24.0 ] || exit 1

# A plan keeps the price it was found with.
HOME=$SCRATCH "$ASTRA" search --model llama3-8b --cluster 1x8:H100 --gpus 8 --top 1 --prices sky \
    --format json -o "$SCRATCH/plan.json"
"$ASTRA" explain "$SCRATCH/plan.json" --format json | grep -q '"usd_per_hour": 48.0'
