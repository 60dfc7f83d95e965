# Which ranks and stages each node has, from what the ranks wrote.
include "stages";

"  \(length) ranks, address \(.[0].address)",
(group_by(.node) | sort_by(.[0].rank)[] | (map(stage_by_flags) | unique) as $stages
 | "    \(.[0].node): ranks \(.[0].rank) to \(.[-1].rank), stage"
   + if $stages | length > 1 then "s \($stages[0]) to \($stages[-1])" else " \($stages[0])" end)
