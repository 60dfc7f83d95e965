# Files of defaults: the later wins, the command line over both, answers name them, mistakes have a line.
set -eu
fault() { echo "$*"; exit 1; }
mkdir -p "$SCRATCH/home/astra" "$SCRATCH/here"
export XDG_CONFIG_HOME="$SCRATCH/home"
cd "$SCRATCH/here"
cat >"$XDG_CONFIG_HOME/astra/config.yaml" <<'END'
clusters:
  lab: 2x8:H100
  file: beside.yaml
memory-margin: 0.06
price: {H100: 2.5, B200: 5}
END
printf 'groups:\n  - {gpu: A100, nodes: 1}\n' >"$XDG_CONFIG_HOME/astra/beside.yaml"
printf 'cluster: lab\nprice: [H100=2]\nno-cautions: false\n' >astra.yaml
ask() { "$ASTRA" search --model llama3-8b --top 1 "$@"; }

ask >out
grep -q 'on 2x8:H100, .* 6 % of memory left free' out || fault "the defaults do not count"
tail -n 2 out >last
grep -q "^defaults of $XDG_CONFIG_HOME/astra/config.yaml: lab 2x8:H100, memory-margin 0.06\$" last || fault "the first file"
grep -q '^defaults of ./astra.yaml: cluster lab, price H100=2$' last || fault "the second file: $(cat last)"
ask --format json | grep -q '"defaults": "defaults of ' || fault "JSON does not name them"
ask --cluster 1x8:H100 --memory-margin 0.02 --price H100=3 >out
grep -q 'on 1x8:H100, .* 2 % of memory left free' out || fault "the command line does not win"
grep -q '^defaults' out && fault "named, and not used"
ask --cluster file | grep -q '^  *1 .* *8 ' || fault "a file beside the file"
# A plan keeps its nodes, a script with --gpu its own.
ask --no-config --cluster 1x8:H100 --format json -o plan.json
"$ASTRA" estimate plan.json | grep -q 'on 8 H100' || fault "a plan is moved"
code=0
ask --no-config 2>err || code=$?
[ $code -eq 2 ] && grep -q 'no cluster is given' err || fault "--no-config reads one"
"$ASTRA" config | grep -q '^  memory-margin  *0.06 .*config.yaml:4$' || fault "config: no line"
"$ASTRA" config --format csv | grep -q '^./astra.yaml,1,cluster,lab$' || fault "config: csv"

refused() { # TEXT CONTENT...
    printf "$2" >astra.yaml
    code=0
    ask 2>err || code=$?
    [ $code -eq 2 ] && grep -qF "$1" err || fault "$2: $(cat err)"
}
refused "./astra.yaml:2:1: 'memory_margin' cannot be a default (did you mean memory-margin?)" 'cluster: lab\nmemory_margin: 1\n'
refused "./astra.yaml:2: --memory-margin is '7'" 'cluster: lab\nmemory-margin: 7\n'
refused './astra.yaml:1:10: cluster takes a single value' 'cluster: [a, b]\n'
refused "./astra.yaml:1:1: 'report' cannot be a default" 'report: out.html\n'
refused './astra.yaml:2:1: not YAML' 'cluster: [\n'
echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | "$ASTRA" mcp | grep -q '"id":1' || fault "mcp reads the broken file"
