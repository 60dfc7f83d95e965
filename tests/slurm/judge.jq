# Holds the ranks of a job against the plan it was written from. Input: a list of what the ranks
# wrote (stand_in.sh); $plan: what `astra search --format json` printed; $exports: "NAME=VALUE" of
# the plan's environment. Prints one line for each thing that is wrong.

include "stages";

# FlagScale tells each rank its own type; everything else is the same for all.
def own_type: "--hetero-current-device-type";
def common_words: groups | map(select(.[0] != own_type)) | add;

# Flags that a plan leaves to its user.
def run_flags: ["--train-iters", "--lr", "--min-lr", "--lr-decay-style", "--lr-warmup-iters",
    "--log-interval", "--log-throughput", "--mock-data", "--tokenizer-type", "--eval-iters",
    "--eval-interval"];

def type_of_node: sub("-[0-9]+$"; "") | ascii_upcase;

def one($what): unique | select(length > 1) | "\($what) differs: \(map(tostring) | join(", "))";

($plan[0] | if .best then .best[0] else . end) as $plan
| ($plan.stages | map(.gpus)) as $planned
| $plan.engine.flags as $flags
| sort_by(.rank) as $ranks
| if length == 0 then "no rank has started" else
  (if ($ranks | map(.rank)) != [range($plan.gpus)]
   then "ranks are \($ranks | map(.rank) | tojson), expected 0 to \($plan.gpus - 1)"
   else empty end),
  ($ranks | map([.node, .local_rank]) | group_by(.)[] | select(length > 1)
   | "two ranks on GPU \(.[0] | join(" "))"),
  ($ranks | map(.address) | one("address")),
  ($ranks | map(.port) | one("port")),
  ($ranks | map(.arguments | common_words) | one("argument list")),
  ($ranks[0] | select(.address != .node) | "rank 0 is on \(.node), its address is \(.address)"),
  ($ranks[] | . as $own | "rank \(.rank) on \(.node)" as $who
   | (select(.world != $plan.gpus) | "\($who): world size \(.world), expected \($plan.gpus)"),
     (select((.gpus // "" | split(",") | index($own.local_rank | tostring)) == null)
      | "\($who): GPU \(.local_rank) is not among those it sees, \(.gpus)"),
     ($exports[0][] | . as $line | index("=") as $at
      | select($own.environment[.[:$at]] != .[$at + 1:])
      | "\($who): \($line) is not in its environment"),
     (select($plan.engine.name == "flagscale") | values(own_type; .arguments)
      | select(length != 1 or (.[0] | startswith($own.node | type_of_node) | not))
      | "\($who): its flags say it has \(tojson)"),
     (stage_in($planned; .rank) as $stage
      | (stage_by_flags | select(. != $stage)
         | "\($who): stage \(.) by its flags, \($stage) by the plan"),
        ($plan.stages[$stage].gpu
         | select(startswith($own.node | type_of_node) | not)
         | "\($who): stage \($stage) is planned on \(.)"))),
  ($ranks[0].arguments | groups as $have
   | ($flags | groups[] | . as $want | [$have[] | select(.[0] == $want[0])]
      | select(. != [$want]) | "the plan says \($want | join(" ")), the job \(tojson)"),
     ($have[] | select(.[0] | IN(own_type, run_flags[], $flags[]) | not)
      | "the plan does not say \(join(" "))")) end
