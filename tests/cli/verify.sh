# astra verify against a stand-in for Python that prints canned lines: what it says of good and bad
# measurements, of what is missing, and that nothing stays behind.
set -eu
plan=tests/golden/files/plan.json
export FAKE="$SCRATCH" TMPDIR="$SCRATCH/tmp"
mkdir "$TMPDIR" "$SCRATCH/megatron"
: >"$SCRATCH/megatron/pretrain_gpt.py"

# Rank R answers as the file rank-R says, or the file rank; both are shell.
cat >"$SCRATCH/python" <<'END'
#!/bin/sh
echo "a line of the log"
[ -f "$1" ] || { echo "$1 is not there"; exit 9; }
[ "$2" != --check ] || . "$FAKE/check"
rank=$5
echo "$*" >"$FAKE/asked-$rank"
echo "$MEGATRON" >"$FAKE/megatron-of-$rank"
if [ -f "$FAKE/rank-$rank" ]; then . "$FAKE/rank-$rank"; else . "$FAKE/rank"; fi
END
chmod +x "$SCRATCH/python"

machine() { # GPU TOTAL-MIB TE: the check of a good machine
    cat >"$SCRATCH/check" <<END
echo 'RANK {"python": "3.12.1", "torch": "2.11.0", "cuda": true, "gpu": "$1", "total_mib": $2, "free_mib": $2, "te": $3, "megatron": "0.20.0", "fake_process_group": true}'
exit 0
END
}
fields() { # COMPUTE_MS PEAK_MIB: of a good result
    echo "\"status\": \"ok\", \"iterations\": 6, \"peak_mib\": $2, \"reserved_mib\": $2, \"total_mib\": 81559, \"compute_ms\": $1, \"iteration_ms\": [9, 9, 5.0, 5.1, 5.0, 5.1], \"fill_ms\": [1, 1, 1, 1, 1, 1]"
}
sensors='"sm_mhz": 1755, "watts": 640.5, "watt_limit": 700'
rank() { # FILE FIELDS...: a result of these fields
    file=$1
    shift
    echo "echo 'RANK {$*}'; exit 0" >"$SCRATCH/$file"
}
says() { # CODE TEXT...: what the last run must have printed
    [ $code -eq "$1" ] || { echo "exit code $code, expected $1"; cat "$SCRATCH/err" "$SCRATCH/out"; exit 1; }
    shift
    for text; do
        cat "$SCRATCH/err" "$SCRATCH/out" | grep -qF -- "$text" ||
            { echo "not said: $text"; cat "$SCRATCH/err" "$SCRATCH/out"; exit 1; }
    done
    left=$(ls -A "$TMPDIR")
    [ -z "$left" ] || { echo "left behind: $left"; exit 1; }
}
lives() { # PID: it runs, and is not only waited for by nobody
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}
verify() { # OPTIONS...
    code=0
    "$ASTRA" verify $plan --megatron "$SCRATCH/megatron" --python "$SCRATCH/python" "$@" \
        >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
}

# What is predicted, as measurements: rank, milliseconds, MiB.
predictions() { # OPTIONS...
    "$ASTRA" verify $plan --dry-run --format csv "$@" |
        awk -F, 'NR > 1 { print $7, 1000 * $9, $12 / 1048576 }' >"$SCRATCH/predicted"
}
as_predicted() { # FACTOR: every rank takes FACTOR times as long
    rm -f "$SCRATCH"/rank-*
    while read -r number ms mib; do
        rank "rank-$number" "$(fields "$(echo "$ms $1" | awk '{ print $1 * $2 }')" "$mib"), $sensors, \"loss\": [11.7]"
    done <"$SCRATCH/predicted"
}
predictions
[ "$(wc -l <"$SCRATCH/predicted")" -eq 3 ] || { echo "not three kinds of stage"; exit 1; }

machine "NVIDIA H100 80GB HBM3" 81559 '"2.1"'
as_predicted 1.02
verify
says 0 "confirmed: compute is 2.0 % off on average, memory 0.0 %" "1755 MHz" "640/700 W" "stack te" \
    "With the measured compute a step of the plan takes" "it fits"
grep -q -- "--world 64 --rank 16 --iterations 4 --seconds 3 --stack te --lock $TMPDIR/astra-verify-" \
    "$SCRATCH/asked-16"
grep -q -- "--global-batch-size 32 " "$SCRATCH/asked-16"
! grep -q -- "--tp-comm-overlap" "$SCRATCH/asked-16"
grep -qx "$SCRATCH/megatron" "$SCRATCH/megatron-of-16"
verify --format json
says 0 '"kind": "astra-verify"' '"confirmed": true' '"iterations": 6' '"gpu": "NVIDIA H100 80GB HBM3"'
verify --format csv
says 0 'NVIDIA H100 80GB HBM3,te,8,'
[ "$(wc -l <"$SCRATCH/out")" -eq 4 ]

# Measurements that say something else, the worst first.
as_predicted 1.6
verify
says 1 "not confirmed: stage 0 computes 60.0 % longer than predicted" " 0.0 %" "-37.5 %"
as_predicted 1
rank rank-16 "$(fields 100 90000), $sensors"
verify
says 1 "not confirmed: stage 1 does not fit on H100-SXM5-80GB"
rank rank-16 "$(fields 100 70000), $sensors"
verify
says 1 "not confirmed: stage 1 needs 4.2 % more memory than predicted"
rank rank-48 '"status": "out of memory", "iterations": 0, "peak_mib": 80000'
verify
says 1 "not confirmed: stage 3 ran out of memory"
rank rank-0 '"status": "RuntimeError: bad shape", "iterations": 0'
rm "$SCRATCH/rank-48"
rank rank-48 "$(fields 100 60000), $sensors"
verify
says 1 "not confirmed: stage 0 failed: RuntimeError: bad shape" "a line of the log"

# What fits without the margin is confirmed, and what is left is said.
as_predicted 1
verify --memory-margin 0.01
says 0 "GiB of each H100-SXM5-80GB: it fits"
! grep -q "margin is left" "$SCRATCH/out" || { echo "no margin where there is one"; exit 1; }
verify --memory-margin 0.3
says 0 "it fits, but less than the margin is left: " " of 23."
rank rank-16 "$(fields 100 90000), $sensors"
verify --memory-margin 0.3
says 1 "not confirmed: stage 1 does not fit on H100-SXM5-80GB" "GiB of each H100-SXM5-80GB: it does not fit"

# Ones that are no good.
as_predicted 1
line=$(fields 100 60000)
rank rank-16 "$line, $sensors, \"loss\": [11.7, NaN]"
verify --stages 1
says 1 "stage 1 is suspect: the loss is not finite"
rank rank-16 "$line, \"sm_mhz\": null, \"watts\": null"
verify --stages 1
says 1 "stage 1 is suspect: clock or power are not known"
rank rank-16 "\"status\": \"ok\", \"iterations\": 6, \"peak_mib\": 60000, \"compute_ms\": 100, \"iteration_ms\": [5, 5, 5, 9, 5, 5], $sensors"
verify --stages 1
says 1 "stage 1 is suspect: steps differ by more than 10 %"
rank rank-16 "\"status\": \"ok\", \"iterations\": 6, \"peak_mib\": 66000, $sensors"
verify --stages 1
says 0 "no time was measured" "memory confirmed"

# Output that is spoilt, or does not come.
spoilt() { # SHELL HOW: what rank 16 does, and how that is called
    echo "$1; exit 3" >"$SCRATCH/rank-16"
    verify --stages 1
    says 1 "stage 1 failed: it ended without a result ($2" "a line of the log"
}
spoilt "echo 'RANK {\"status\": \"ok\"'" "exit code 3, RANK:1:"
spoilt "echo 'RANK []'" "exit code 3, RANK: is no object)"
spoilt "echo 'RANK {\"status\": 3}'; exit 0" "exit code 0, RANK: status is missing)"
spoilt "echo RANK" "exit code 3)"
spoilt : "exit code 3)"
spoilt "kill -9 \$\$" "signal 9)"
for figures in "1e12 60000 compute_ms" "1e-300 60000 compute_ms" "100 1e9 peak_mib"; do
    set -- $figures
    rank rank-16 "$(fields "$1" "$2"), $sensors"
    verify --stages 1
    says 1 "stage 1 failed: it ended without a result (exit code 0, RANK: $3 is 1e" "0.001 to 1e+08 is right"
done
rank rank-16 "$(fields 1e8 60000), $sensors" # of many micro-batches that are weeks
verify --stages 1 --format json
says 1 "not confirmed: stage 1 computes" '"measured_step_s": null'

# A result, and then another end.
for status in ok "out of memory"; do
    for end in "exit 3=exit code 3" "kill -9 \$\$=signal 9"; do
        echo "echo 'RANK {$(fields 100 60000 | sed "s/\"ok\"/\"$status\"/")}'; ${end%%=*}" >"$SCRATCH/rank-16"
        verify --stages 1
        says 1 "stage 1 failed: it said '$status', then it ended with ${end#*=}"
    done
done
rank rank-16 '"status": "ValueError: x"'
sed 's/exit 0/exit 1/' "$SCRATCH/rank-16" >"$SCRATCH/one" && mv "$SCRATCH/one" "$SCRATCH/rank-16"
verify --stages 1
says 1 "stage 1 failed: ValueError: x"
rank rank-16 "\"status\": \"ok\", \"peak_mib\": -5"
verify --stages 1
says 1 "stage 1 failed: no memory was measured"
head -c 300000 /dev/zero | tr '\0' 'x' >"$SCRATCH/long"
echo "cat '$SCRATCH/long'; echo; echo; . '$SCRATCH/rank-0'" >"$SCRATCH/rank-16"
verify --stages 1
says 1 "stage 1 needs 5.3 % more memory than predicted" # it is stage 0's
echo "exec yes" >"$SCRATCH/rank-16"
verify --stages 1 --timeout 2s
says 1 "stage 1 failed: it took longer than 2 s"
echo "sleep 60 & echo \$! >'$SCRATCH/sleeper'; sleep 60" >"$SCRATCH/rank-16"
verify --timeout 5s
says 1 "not confirmed: stage 1 failed: it took longer than 5 s (--timeout allows more)"
! lives "$(cat "$SCRATCH/sleeper")" || { echo "a child of the harness lives"; exit 1; }

# Ended by a signal, nothing stays. (A shell has SIGINT and SIGQUIT ignored in the background.)
ended_by() { # SIGNAL NUMBER
    rm "$SCRATCH/sleeper"
    "$ASTRA" verify $plan --megatron "$SCRATCH/megatron" --python "$SCRATCH/python" \
        >"$SCRATCH/out" 2>"$SCRATCH/err" &
    astra=$!
    while [ ! -s "$SCRATCH/sleeper" ]; do sleep 0.1; done
    kill -"$1" $astra
    code=0
    wait $astra 2>/dev/null || code=$?
    says $((128 + $2))
    ! lives "$(cat "$SCRATCH/sleeper")" || { echo "a child outlives astra after SIG$1"; exit 1; }
}
ended_by TERM 15
ended_by HUP 1
ended_by PIPE 13
ended_by ALRM 14

# Another stack, another GPU.
machine "NVIDIA H100 80GB HBM3" 81559 null
predictions --stack torch
as_predicted 1
verify
says 0 "confirmed for the torch stack" "TransformerEngine is not installed" "stack torch"
grep -q -- "--stack torch .*--transformer-impl local" "$SCRATCH/asked-0"
verify --stack te
says 3 "--stack is te, $SCRATCH/python has no TransformerEngine"
machine "NVIDIA H200" 143771 '"2.1"'
predictions
as_predicted 0.99
verify
says 0 "this GPU is of type H200-SXM-141GB, the plan is for H100-SXM5-80GB: memory carries over" "H200-SXM-141GB" "confirmed"
machine "NVIDIA X9000" 143771 '"2.1"'
verify
says 0 "memory confirmed" "they are not compared" "this GPU is of type NVIDIA X9000"
machine "NVIDIA L40S" 46068 '"2.1"'
verify
says 1 "was not run: it needs" "this GPU has 45.0 GiB"
machine "NVIDIA H100 80GB HBM3" 81559 '"2.1"'
sed 's/"free_mib": [0-9]*/"free_mib": 30000/' "$SCRATCH/check" >"$SCRATCH/full" && mv "$SCRATCH/full" "$SCRATCH/check"
verify
says 1 "29.3 GiB are free: other processes have the rest"

# A plan on two types: each stage beside its own, and what is predicted for this GPU.
machine "NVIDIA H100 80GB HBM3" 81559 '"2.1"'
rm -f "$SCRATCH"/rank-*
rank rank "$(fields 700 21000), $sensors"
all=$plan plan=tests/golden/files/mixed.json
verify
plan=$all
says 1 "the plan is for A100-SXM4-80GB+H100-SXM5-80GB: memory carries over" "not confirmed"
! grep -q "A100-SXM4-80GB .* ms" "$SCRATCH/out" || { echo "A100 times beside those of an H100"; exit 1; }

# Factors of a profile: those that the plan has, those of --profile, for what runs here. A plan is held to its own error.
profile=tests/golden/files/profile.json
entry() { # GPU STACK FACTOR
    sed -n '/^  {/,/^  }/p' $profile | sed "s/\"H200\"/\"$1\"/; s/\"torch\"/\"$2\"/; s/1\.08/$3/"
}
profile_of() { # ENTRIES: a profile of them
    printf '{"kind": "astra-profile", "version": 1, "made_from": ["x"], "entries": [%s]}\n' "$1" >"$SCRATCH/profile.json"
}
milliseconds() { # of stage 0 as predicted
    awk 'NR == 1 { print $2 }' "$SCRATCH/predicted"
}
between() { # LEAST MOST MILLISECONDS: what is predicted now is so many times that
    milliseconds | awk -v least="$1" -v most="$2" -v ms="$3" '{ exit !($1 / ms > least && $1 / ms < most) }' ||
        { echo "$(milliseconds) ms are not $1 to $2 times $3 ms"; exit 1; }
}
predictions
plain=$(milliseconds)
predictions --stack torch
plain_torch=$(milliseconds)
both="$(entry H100-SXM5-80GB te 1.25), $(entry H200 te 1.5)"
profile_of "$both, $(entry H100-SXM5-80GB torch 0.8)"
predictions --profile "$SCRATCH/profile.json" --stack torch
between 0.79 0.9 "$plain_torch" # seconds of the host stay
profile_of "$both"
predictions --profile "$SCRATCH/profile.json"
between 1.15 1.251 "$plain"
as_predicted 1.02
machine "NVIDIA H100 80GB HBM3" 81559 '"2.1"'
verify --profile "$SCRATCH/profile.json"
says 0 "confirmed: compute is 2.0 % off"
as_predicted 1.12
verify
says 1 "31.8 % longer than predicted,"
verify --profile "$SCRATCH/profile.json"
says 1 "stage 0 computes 12.0 % longer than predicted, 5 % are expected at most"
"$ASTRA" estimate $plan --profile "$SCRATCH/profile.json" --format json --memory-margin 0.01 -o "$SCRATCH/plan.json"
all=$plan plan=$SCRATCH/plan.json
verify
says 1 "stage 0 computes 12.0 % longer than predicted, 5 % are expected at most"
verify --stack torch
says 1 "the profile has nothing about H100-SXM5-80GB with stack torch"
plan=$all
machine "NVIDIA H200" 143771 '"2.1"'
here() { # OPTIONS...: seconds of stage 0 as predicted for this GPU
    verify --format json "$@"
    sed -n 's/^ *"compute_s": \(.*\),$/\1/p' "$SCRATCH/out" | head -1
}
slower() { # SECONDS LEAST MOST SECONDS: the last are so many times the first
    echo "$@" | awk '{ exit !($4 / $1 > $2 && $4 / $1 < $3) }' ||
        { echo "$1 s, with factors $4 s: not $2 to $3 times"; exit 1; }
}
slower "$(here)" 1.3 1.51 "$(here --profile "$SCRATCH/profile.json")"
profile_of "$(entry A100-SXM4-80GB te 0.7), $(entry H100-SXM5-80GB te 1.5)"
machine "NVIDIA H100 80GB HBM3" 81559 '"2.1"'
plan=tests/golden/files/mixed.json
"$ASTRA" estimate $plan --profile "$SCRATCH/profile.json" --format json -o "$SCRATCH/plan.json"
plain=$(here)
plan=$SCRATCH/plan.json
slower "$plain" 1.45 1.51 "$(here)" # stage 0 is for an A100, and the plan has factors of both
plan=$all
machine "NVIDIA H200" 143771 '"2.1"'
profile_of "$(entry A100-SXM4-80GB te 1.5)"
verify --profile "$SCRATCH/profile.json"
says 2 "the profile has nothing about H200-SXM-141GB with stack te: it has A100-SXM4-80GB with stack te"
[ ! -s "$SCRATCH/out" ] || { echo "an answer beside a message"; exit 1; }

# What a machine may lack.
good='"python": "3.12.1", "torch": "2.11.0", "cuda": true, "gpu": "NVIDIA H200", "total_mib": 143771, "free_mib": 143000, "te": null, "megatron": "0.20.0", "fake_process_group": true'
lacks() { # SED-SCRIPT CODE TEXT
    echo "echo 'RANK {$good}' | sed '$1'; exit 0" >"$SCRATCH/check"
    verify
    says "$2" "$3"
    [ ! -s "$SCRATCH/out" ] || { echo "an answer beside a message"; exit 1; }
}
lacks 's/"2.11.0"/null/' 3 "has no PyTorch"
lacks 's/"cuda": true/"cuda": false/' 3 "PyTorch 2.11.0 finds no CUDA GPU here"
lacks 's/"0.20.0"/null/' 3 "Megatron core is not found in it"
lacks 's/"0.20.0"/"0.15.2"/' 3 "Megatron core 0.15.2 runs no rank alone"
lacks 's/"fake_process_group": true/"fake_process_group": false/' 3 "--fake-process-group is needed"
lacks 's/3.12.1/3.8.10/' 3 "is Python 3.8.10, 3.10 or newer is needed"
lacks 's/RANK.*/nothing/' 3 "does not run the harness (exit code 0)"
lacks 's/RANK.*/RANK {"python": 3/' 3 "does not run the harness (exit code 0, RANK"
echo 'echo "SyntaxError: invalid syntax"; exit 1' >"$SCRATCH/check"
verify
says 3 "does not run the harness (exit code 1)" "SyntaxError: invalid syntax"
echo 'sleep 60' >"$SCRATCH/check"
verify --timeout 1s
says 3 "found out nothing about torch and the GPU in 1 s"
verify --python "$SCRATCH/no-python"
says 3 "no-python: cannot be started: No such file or directory"
rm "$SCRATCH/megatron/pretrain_gpt.py"
verify
says 2 "is not a checkout of Megatron-LM (pretrain_gpt.py is not in it)"
TMPDIR=$SCRATCH/none
: >"$SCRATCH/megatron/pretrain_gpt.py"
verify
[ $code -eq 3 ] && grep -q "TMPDIR names another place" "$SCRATCH/err"
