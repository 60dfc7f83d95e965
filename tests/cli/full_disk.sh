# Output that cannot be written is system trouble, exit code 3, never a silent success. A reader
# that goes away early (head) is no trouble worth a message.
set -eu
code=0
"$ASTRA" gpus >/dev/full 2>"$SCRATCH/err" || code=$?
[ $code -eq 3 ] || { echo "full disk: exit code $code, expected 3"; exit 1; }
[ -s "$SCRATCH/err" ] || { echo "full disk: no message"; exit 1; }
"$ASTRA" gpus 2>"$SCRATCH/err" | head -n 1 >"$SCRATCH/out"
[ -s "$SCRATCH/out" ] && [ ! -s "$SCRATCH/err" ]
