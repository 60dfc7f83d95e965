# Stages of ranks, from the flags that a rank has been given. For jq's include.

# Words as a list of [flag, values...].
def groups: reduce .[] as $word ([]; if $word | startswith("--") then . + [[$word]]
                                     else .[:-1] + [.[-1] + [$word]] end);

def values($flag; $words): [$words | groups[] | select(.[0] == $flag) | .[1:][]];
def numbers($flag; $words): values($flag; $words) | map(tonumber);

# GPUs of each stage as the engine counts them from its flags. Megatron: ranks of a stage follow
# each other, tp fastest, then cp and dp, pp slowest. FlagScale: the same within each mesh, five
# numbers each: tp, cp, ep, dp, pp.
def stage_sizes($words; $world):
    numbers("--hetero-process-meshes"; $words) as $meshes
    | numbers("--pipeline-model-parallel-size"; $words)[0] as $pp
    | if $meshes == [] then [range($pp) | $world / $pp]
      else [range(0; $meshes | length; 5) as $i | $meshes[$i:$i + 5]
            | range(.[4]) as $stage | .[0] * .[1] * .[3]] end;

# Index of the stage that holds a rank.
def stage_in($sizes; $rank):
    {stage: 0, end: $sizes[0]}
    | until(.end > $rank or .stage == ($sizes | length) - 1;
            .stage += 1 | .end += $sizes[.stage])
    | .stage;

def stage_by_flags: stage_in(stage_sizes(.arguments; .world); .rank);
