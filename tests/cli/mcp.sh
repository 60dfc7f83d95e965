# `astra mcp`: a client that is a list of lines. Calls are answered, cancelled and ended in time; files
# are read below --allow alone; a client that goes away leaves no process behind.
set -eu
fault() { echo "$*"; cat "$SCRATCH/out" 2>/dev/null | cut -c 1-400; exit 1; }

HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'
READY='{"jsonrpc":"2.0","method":"notifications/initialized"}'
LONG='{"model":"llama3-405b","cluster":"1..128x8:H100,1..128x8:A100,1..64x8:H200","exhaustive":true}'
call() { # ID TOOL ARGUMENTS
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@"
}
serve() { # OPTIONS...: lines of standard input behind a greeting
    { printf '%s\n' "$HELLO" "$READY" && cat; } | timeout 60 "$ASTRA" mcp "$@" >"$SCRATCH/out" ||
        fault "astra mcp $*: exit code $?"
}
answer() { # ID: the line that answers it
    grep "^{\"jsonrpc\":\"2.0\",\"id\":$1," "$SCRATCH/out" || fault "$1 is not answered"
}
says() { # ID TEXT...: its answer has all of these
    id=$1
    shift
    answer "$id" >"$SCRATCH/line"
    for text; do
        grep -qF -- "$text" "$SCRATCH/line" || fault "$id does not say $text: $(cut -c 1-400 "$SCRATCH/line")"
    done
}

# Every tool answers, in text and as JSON; calls that were sent are answered though the client says no more.
PLAN='{"model":"llama3-8b","cluster":"1x8:H100","set":["tp=2","dist_opt=on"]}'
SCRIPT=$(sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g; s/$/\\n/' tests/import/01_arrays.sh | tr -d '\n')
{
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    call 2 search '{"model":"llama3-8b","cluster":"1x8:H100","top":2,"export":"slurm"}'
    call 3 estimate "$PLAN"
    call 4 explain "$PLAN"
    call 5 gpus '{}'
    call 6 models '{}'
    call 7 prices '{"gpu":"H100"}'
    call 8 estimate "{\"script\":\"$SCRIPT\",\"gpu\":\"H100\"}"
    call 9 improve "{\"script\":\"$SCRIPT\",\"gpu\":\"H100\"}"
    call 10 search '{"model":"lama3-8b","cluster":"1x8:H100"}'
    call 11 estimate '{"model":"llama3-70b","cluster":"1x8:H100"}'
    printf '\n \r\n{"jsonrpc":"2.0","id":12,"method":"ping"}' # blank lines, and a last one without its end
} | serve
for tool in search estimate explain improve compare export gpus models prices; do
    says 1 "{\"name\":\"$tool\","
done
says 2 '"structuredContent":{' '#SBATCH' '"script":"#!'
says 3 '"structuredContent":{' '"step_s":'
says 4 '"structuredContent":{'
says 5 H100-SXM5-80GB
says 6 llama3-405b
says 7 usd_per_gpu_hour
says 8 '"step_s":'
says 9 '+    --micro-batch-size 2' '"structuredContent":{"script":"#!/bin/bash'
says 10 'did you mean llama3-8b?' '"isError":true'
says 11 'not feasible' '"structuredContent":{'
says 12 '"result":{}'
[ "$(wc -l <"$SCRATCH/out")" -eq 13 ] || fault "$(wc -l <"$SCRATCH/out") lines instead of 13"
# A plan goes back in as it came out.
plan=$(answer 3 | sed 's/.*"structuredContent"://; s/}}$//')
call 1 export "{\"answer\":$plan,\"to\":\"torchrun\"}" | serve
says 1 'torchrun' '"structuredContent":{"script":"'

# Files: in allowed folders by relative and absolute names, and nowhere else, whatever names them.
mkdir "$SCRATCH/in" "$SCRATCH/in/below" "$SCRATCH/inner"
cp tests/import/01_arrays.sh "$SCRATCH/in/job.sh"
cp tests/import/01_arrays.sh "$SCRATCH/inner/job.sh"
echo 'require tp <= 4 "small"' >"$SCRATCH/in/my.rules"
echo 'SECRET="quite"' >"$SCRATCH/secret"
cp "$SCRATCH/secret" "$SCRATCH/secret.json"
ln -s ../inner/job.sh "$SCRATCH/in/link.sh"
ln -s ../../inner "$SCRATCH/in/below/out"
mkfifo "$SCRATCH/in/pipe"
find "$SCRATCH/in" "$SCRATCH/inner" >"$SCRATCH/before"
attack() { # ID ARGUMENTS: of estimate
    call "$1" estimate "$2"
}
{
    attack 1 '{"gpu":"H100","file":"job.sh"}'
    attack 2 "{\"gpu\":\"H100\",\"file\":\"$SCRATCH/in/below/../job.sh\",\"rules\":[\"my.rules\"]}"
    attack 3 '{"gpu":"H100","file":"../inner/job.sh"}'
    attack 4 '{"gpu":"H100","file":"link.sh"}'
    attack 5 '{"gpu":"H100","file":"below/out/job.sh"}'
    attack 6 "{\"gpu\":\"H100\",\"file\":\"$SCRATCH/inner/job.sh\"}"
    attack 7 '{"gpu":"H100","file":"pipe"}'
    attack 8 '{"gpu":"H100","file":"-"}'
    attack 9 '{"gpu":"H100","file":"/dev/stdin"}'
    attack 10 "{\"model\":\"$SCRATCH/secret.json\",\"cluster\":\"1x8:H100\"}"
    attack 11 "{\"model\":\"llama3-8b\",\"cluster\":\"$SCRATCH/secret\"}"
    attack 12 "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\",\"rules\":[\"$SCRATCH/secret\"]}"
    attack 13 "{\"answer\":{\"cluster\":\"$SCRATCH/secret\",\"engine\":{\"flags\":[\"--bf16\"]}}}"
    attack 14 "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\",\"prices\":[\"sky\"]}"
    attack 15 '{"model":"llama3-8b","cluster":"1x8:H100","trace":"trace.json"}'
    attack 16 "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\",\"efficiency\":\"$SCRATCH\"}"
    call 17 search "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\",\"what-if\":[\"model=$SCRATCH/secret.json\"]}"
    call 18 search '{"model":"llama3-8b","cluster":"1x8:H100","export":"flagscale","hostfile":"hosts"}'
} >"$SCRATCH/attacks"
HOME=$SCRATCH serve --allow "$SCRATCH/in" <"$SCRATCH/attacks"
for id in 1 2; do says $id '"step_s":'; done
for id in 3 4 5 6 7 8 9 10 11 12 13 14 16 17; do says $id '"isError":true'; done
for id in 15 18; do says $id 'it writes a file, and this server writes none'; done
! grep -q quite "$SCRATCH/out" || fault "a secret was told"
find "$SCRATCH/in" "$SCRATCH/inner" | cmp - "$SCRATCH/before" || fault "a file was written"
serve <"$SCRATCH/attacks" # the same without --allow: nothing at all
for id in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do says $id '"isError":true'; done
says 1 'started without --allow'
says 2 'started without --allow'

# Limits: of a message, and of a call. What comes behind is answered.
{
    head -c 3000000 /dev/zero | tr '\0' x && echo
    echo '{"jsonrpc":"2.0","id":1,"method":"ping"}'
} | serve
says null '"code":-32600' 'longer than 1000000 bytes'
says 1 '"result":{}'
{ call 1 search "${LONG%\}},\"time-limit\":\"1h\"}" && call 2 models '{}'; } | serve --call-limit 1s
says 1 'not answered within 1 s' '"isError":true'
says 2 llama3-8b
call 1 search "$LONG" | serve --call-limit 3s # the best so far
says 1 '"proven":false' 'stopped early'

# A client that speaks while calls run. Processes are those of the server.
children() { cat "/proc/$1/task/$1/children"; }
gone() { # PID...: within five seconds
    for pid; do
        tries=0
        while [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do
            tries=$((tries + 1))
            [ $tries -lt 50 ] || fault "process $pid is still there"
            sleep 0.1
        done
    done
}
eventually() { # COMMAND...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fault "not within ten seconds: $*"
        sleep 0.1
    done
}
begin() { # the server, with a long search under way; sets $server and $job
    rm -f "$SCRATCH/to" "$SCRATCH/out"
    mkfifo "$SCRATCH/to"
    "$ASTRA" mcp <"$SCRATCH/to" >"$1" &
    server=$!
    exec 9>"$SCRATCH/to"
    printf '%s\n' "$HELLO" "$READY" >&9
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","_meta":{"progressToken":"p7"},"arguments":%s}}\n' "$LONG" >&9
    eventually has_job
}
has_job() {
    job=$(children $server) && [ -n "$job" ]
}
told() { grep -q "$1" "$SCRATCH/out"; }

begin "$SCRATCH/out"
eventually told '"progressToken":"p7","progress":0.[0-9]*,"total":1'
echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}' >&9
call 2 models '{}' >&9
eventually told '"id":2,"result"'
gone $job
! told '"id":1,' || fault "a cancelled call was answered"
exec 9>&-
wait $server || fault "the end of the client: exit code $?"

# It goes away while a search runs: nobody reads, the server is terminated or killed.
mkfifo "$SCRATCH/from"
sleep 100 <"$SCRATCH/from" &
reader=$!
begin "$SCRATCH/from"
kill $reader
gone $server $job
exec 9>&-
for signal in TERM KILL; do
    begin "$SCRATCH/out"
    kill -$signal $server
    gone $server $job
    exec 9>&-
done
