# Help, version and a greeting are answers (standard output, exit code 0); an unknown command is not.
set -eu

answers() { # ARGUMENTS...: must print something on standard output alone
    "$ASTRA" "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || { echo "astra $*: exit code $?"; exit 1; }
    [ -s "$SCRATCH/out" ] || { echo "astra $*: printed nothing"; exit 1; }
    [ ! -s "$SCRATCH/err" ] || { echo "astra $*: wrote to standard error"; exit 1; }
}
refuses() { # ARGUMENTS...: must say why on standard error alone, exit code 2
    code=0
    "$ASTRA" "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] || { echo "astra $*: exit code $code, expected 2"; exit 1; }
    [ -s "$SCRATCH/err" ] || { echo "astra $*: no message"; exit 1; }
    [ ! -s "$SCRATCH/out" ] || { echo "astra $*: wrote to standard output"; exit 1; }
}

answers --version
grep -qF "$VERSION" "$SCRATCH/out" || { echo "--version does not say $VERSION"; exit 1; }
answers --help
cp "$SCRATCH/out" "$SCRATCH/help"
for command in search estimate explain export verify gpus prices models; do
    grep -qw "$command" "$SCRATCH/help" || { echo "--help does not mention $command"; exit 1; }
    answers $command --help
    grep -q "astra $command" "$SCRATCH/out" || { echo "$command --help has no example"; exit 1; }
done
for own in man completions version help; do
    grep -q "astra $own" "$SCRATCH/help" || { echo "--help does not mention $own"; exit 1; }
    answers help $own
    grep -q "^usage: astra $own" "$SCRATCH/out" || { echo "help $own has no usage"; exit 1; }
    cp "$SCRATCH/out" "$SCRATCH/own"
    answers $own --help
    cmp "$SCRATCH/own" "$SCRATCH/out"
done

# The options that matter most come first, all of them on demand; topics are told.
answers search --help
[ "$(grep -c '^  --' "$SCRATCH/out")" -le 12 ] || { echo "search --help has too many options"; exit 1; }
answers search --help all
[ "$(grep -c '^  --' "$SCRATCH/out")" -ge 50 ] || { echo "search --help all has too few"; exit 1; }
cp "$SCRATCH/out" "$SCRATCH/all"
answers help search all
cmp "$SCRATCH/all" "$SCRATCH/out"
for topic in $(sed -n 's/^  astra help \([a-z]*\)  .*/\1/p' "$SCRATCH/help"); do
    answers help $topic
    for page in $(grep -o 'doc/[a-z]*\.md' "$SCRATCH/out"); do
        [ -f "$page" ] || { echo "help $topic: no $page"; exit 1; }
    done
    sed -n 's/^  astra \([a-z]*\) .*/\1/p' "$SCRATCH/out" | while read -r command; do
        "$ASTRA" $command --help >"$SCRATCH/own" || { echo "help $topic: no command $command"; exit 1; }
    done
done
[ "$(grep -c '^  astra help [a-z]*  ' "$SCRATCH/help")" -ge 6 ] || { echo "--help lists no topics"; exit 1; }
refuses search --help=much
refuses cluster

# The greeting says which version it is, and its three examples run.
answers
cp "$SCRATCH/out" "$SCRATCH/greeting"
grep -qF "Astra $VERSION " "$SCRATCH/greeting" || { echo 'the greeting has no version'; exit 1; }
[ "$(grep -c '^    astra ' "$SCRATCH/greeting")" -eq 3 ]
sed -n 's/^    astra //p' "$SCRATCH/greeting" | while read -r words; do
    answers $words
done
refuses frobnicate
refuses search --frobnicate
