/* Launch scripts: what becomes of small ones, word by word, and of the files in tests/import, which
 * stand beside what they say. Every script starts "pretrain_gpt.py" with the words to look at. */
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "import/log/train_log.h"
#include "import/megatron/bridge_adapters.h"
#include "import/megatron/bridge_recipe.h"
#include "import/megatron/dest_names.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/overrides.h"
#include "import/megatron/tokenizers.h"
#include "import/megatron/words.h"
#include "import/shell/launch.h"
#include "import/shell/script.h"
#include "import/yaml/yaml_launch.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Words as they are, unknown parts as they stand in the script. */
static void add_words(const struct launch *l, struct arena *mem, struct str *out)
{
    for (int i = 0; i < l->count; i++)
        str_addf(out, "%s[%s]", i ? " " : "", launch_text(l, l->word[i].text, mem));
}

static const struct {
    const char *script, *words; /* or the message */
} CASES[] = {
    /* Quotes and blanks. */
    {"pretrain_gpt.py --save 'a b' \"c d\" e\\ f", "[--save] [a b] [c d] [e f]"},
    {"pretrain_gpt.py --save \"\" ''", "[--save] [] []"},
    {"pretrain_gpt.py --a \\\n  --b # a comment\n", "[--a] [--b]"},
    {"pretrain_gpt.py --a a#b", "[--a] [a#b]"},
    {"pretrain_gpt.py --a \"x \\\"y\\\" \\$z \\q\"", "[--a] [x \"y\" $z \\q]"},
    {"pretrain_gpt.py --a $'x y'", "[--a] [x y]"},
    /* Variables. */
    {"A=4\npretrain_gpt.py --a $A \"${A}x\"", "[--a] [4] [4x]"},
    {"A=' 1  2 '\npretrain_gpt.py --a $A \"$A\"", "[--a] [1] [2] [ 1  2 ]"},
    {"pretrain_gpt.py --a ${A:-1} ${A-2} ${A:=3} $A ${A:+4} ${B+5}", "[--a] [1] [2] [3] [3] [4]"},
    {"A=\npretrain_gpt.py --a ${A:-1} x${A-2} x${A:+4} x${A+5}", "[--a] [1] [x] [x] [x5]"},
    {"B=7\npretrain_gpt.py --a ${A:-${B:-8}} ${C:-\"x y\"} \"${C:-x y}\"", "[--a] [7] [x y] [x y]"},
    {"A=1 B=2\nexport C=3 D=\"4 5\"\nlocal E=6\npretrain_gpt.py --a $A $B $C \"$D\" $E",
     "[--a] [1] [2] [3] [4 5] [$E]"},
    {"A=1\nA+=2\npretrain_gpt.py --a $A", "[--a] [12]"},
    {"A=1\nA=2 pretrain_gpt.py --a $A", "[--a] [1]"},
    {"A=1\nunset A\npretrain_gpt.py --a ${A:-gone}", "[--a] [gone]"},
    {"pretrain_gpt.py --a $A ${B?x} $(date) `date` $$",
     "[--a] [$A] [${B?x}] [$(date)] [`date`] [$$]"},
    {"A=ab.c\npretrain_gpt.py --a ${A%.c} ${#A}", "[--a] [ab] [4]"},
    /* Lists. */
    {"A=(--x 1 # one\n  --y 'a b')\npretrain_gpt.py \"${A[@]}\" ${A[1]} ${#A[@]} \"${A[*]}\"",
     "[--x] [1] [--y] [a b] [1] [4] [--x 1 --y a b]"},
    {"A=(--x)\nA+=(--y $B)\npretrain_gpt.py \"${A[@]}\"", "[--x] [--y] [$B]"},
    {"A=()\npretrain_gpt.py --a \"${A[@]}\" \"$@\" --b", "[--a] [--b]"},
    {"A=(1 2)\npretrain_gpt.py --a \"x${A[@]}y\"", "[--a] [x1] [2y]"},
    {"declare -a A=(1 2)\npretrain_gpt.py --a ${A[-1]}", "[--a] [2]"},
    {"set -euo pipefail\npretrain_gpt.py --a $# x", "[--a] [0] [x]"},
    {"set -- a b\nshift\npretrain_gpt.py --a $1 $#", "[--a] [b] [1]"},
    /* Arithmetic. */
    {"A=8\npretrain_gpt.py --a $((A*2 + 1)) $(( $A / 3 % 2 )) $((2**10)) $((A>4 ? 1 : 0))",
     "[--a] [17] [0] [1024] [1]"},
    {"pretrain_gpt.py --a $((1 << 4 | 3)) $((-(3)+-2)) $((!0 && 1 || 0)) $((7-3-2))",
     "[--a] [19] [-5] [1] [2]"},
    {"pretrain_gpt.py --a $((1/0)) $((9223372036854775807+1)) $((A+1))",
     "[--a] [$((1/0))] [$((9223372036854775807+1))] [$((A))]"},
    /* Conditions that are known. */
    {"if [ 4 -gt 2 ]; then A=1; else A=2; fi\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"X=b\nif [[ $X == a* ]]; then A=1; elif [[ $X = b ]]; then A=2; fi\npretrain_gpt.py --a $A",
     "[--a] [2]"},
    {"[ -z \"$X\" ] && A=1 || A=2\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"[ -n \"$X\" -a 1 = 1 ] && A=1 || A=2\npretrain_gpt.py --a $A", "[--a] [2]"},
    {"! false && A=1\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"if (( 3 > 4 )); then A=1; else A=2; fi\npretrain_gpt.py --a $A", "[--a] [2]"},
    {"case ab in x|a*) A=1 ;; *) A=2 ;; esac\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"while [ $# -gt 0 ]; do A=1; shift; done\npretrain_gpt.py --a ${A:-2}", "[--a] [2]"},
    {"for x in one; do A=$x; done\npretrain_gpt.py --a $A", "[--a] [one]"},
    {"for x in \"$@\"; do A=$x; done\npretrain_gpt.py --a ${A:-none}", "[--a] [none]"},
    /* Conditions that only a run could answer. */
    {"if [ -f x ]; then A=1; else A=2; fi\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"if [ -f x ]; then A=1; else A=1; fi\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"A=1\nif grep -q x y; then A=2; fi\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"A=(--x 1)\n[ -d y ] && A+=(--y)\npretrain_gpt.py \"${A[@]}\"", "[--x] [1] [${A}]"},
    {"A='--x 1'\nif [ -d y ]; then A=\"$A --y\"; fi\npretrain_gpt.py $A", "[--x] [1] [${A}]"},
    {"A=1\nif [ -d y ]; then A=2; exit 1; fi\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"case $X in a) A=1 ;; b) A=2 ;; *) exit 1 ;; esac\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"for x in 1 $(ls); do A=$x; done\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"for x in *.c; do A=$x; done\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"for A in 1 2; do pretrain_gpt.py --a $A; done", "[--a] [1]"},
    {"A=1 B=1\nwhile read x; do B=$A; A=2; done\npretrain_gpt.py --a $A $B", "[--a] [${A}] [${B}]"},
    {"grep -q x y && A=1\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"A=1\ngrep -q x y || A=2\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"f() { if grep -q x y; then A=8; return; fi; A=4; }\nf\npretrain_gpt.py --a $A",
     "[--a] [${A}]"},
    {"A=4\nf() { grep -q x y && return; A=8; }\nf\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"f() { if [ -f x ]; then return 1; fi; }\nif f; then A=1; else A=2; fi\n"
     "pretrain_gpt.py --a $A",
     "[--a] [${A}]"},
    {"f() { if [ -f x ]; then return; else return; fi; A=1; }\nA=2\nf\npretrain_gpt.py --a $A",
     "[--a] [2]"},
    {"A=1\nf() { if [ -f x ]; then local A=2; fi; A=3; }\nf\npretrain_gpt.py --a $A",
     "[--a] [${A}]"},
    {"set -- a b\n[ -f x ] && shift\npretrain_gpt.py --a $1", "[--a] [${@}]"},
    {"for x in 1 2; do if [ -f y ]; then break; fi; A=$x; done\npretrain_gpt.py --a ${A:-0}",
     "[--a] [${A}]"},
    {"declare -A A=([x]=1)\npretrain_gpt.py --a ${A[x]:-2} ${A[y]:-2} ${A[$B]:-2}",
     "[--a] [1] [2] [${A[...]}]"},
    {"declare -u A=x\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"readonly A=1\nA=2\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"A=1\n((A+=B))\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    {"A=(1)\nB=$((A[0]++))\npretrain_gpt.py --a ${A[0]}", "[--a] [${A}]"},
    {"read A\npretrain_gpt.py --a $A", "[--a] [${A}]"},
    /* Commands. */
    {"f() { A=$1; }\nf 5\npretrain_gpt.py --a $A", "[--a] [5]"},
    {"function f { pretrain_gpt.py \"$@\" --z; }\nf --a 'b c'", "[--a] [b c] [--z]"},
    {"C='pretrain_gpt.py --a \"b c\"'\neval $C", "[--a] [b c]"},
    {"srun bash -c \"cd x && pretrain_gpt.py --a 1\"", "[--a] [1]"},
    {"( A=1 )\npretrain_gpt.py --a ${A:-2}", "[--a] [2]"},
    {"A=2\nf() { local A=8 B; A=9; }\nf\npretrain_gpt.py --a $A ${B-none}", "[--a] [2] [none]"},
    {"A=2\nf() { declare A=8; g; }\ng() { C=$A; }\nf\npretrain_gpt.py --a $A $C", "[--a] [2] [8]"},
    {"A=2\nf() { declare -g A=8; }\nf\npretrain_gpt.py --a $A", "[--a] [8]"},
    {"A=8\nB=8\nexport B\nbash -c 'pretrain_gpt.py --a ${A:-2} ${B:-2}'", "[--a] [2] [8]"},
    {"A=8 bash -c 'pretrain_gpt.py --a ${A:-2}'", "[--a] [8]"},
    {"set -a\nA=8\nbash -c 'pretrain_gpt.py --a ${A:-2}'", "[--a] [8]"},
    {"export A=1\nbash -c 'A=2'\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"export \"A=1\"\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"f() { return 1; }\nif f; then A=8; else A=4; fi\npretrain_gpt.py --a $A", "[--a] [4]"},
    {"f() { return 0; }\nf && A=8\nf || A=4\npretrain_gpt.py --a $A", "[--a] [8]"},
    {"f() { [ $1 -gt 4 ]; }\nA=1\nf 2 && A=8\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"f() { if [ $1 = x ]; then true; else false; fi; }\nif f y; then A=1; else A=2; fi\n"
     "pretrain_gpt.py --a $A",
     "[--a] [2]"},
    {"f() { if [ 1 = 1 ]; then A=8; return; fi; A=4; }\nf\npretrain_gpt.py --a $A", "[--a] [8]"},
    {"A=2\nf() { pretrain_gpt.py --a $A; }\nA=4 f", "[--a] [4]"},
    {"A=2\nf() { :; }\nA=4 f\npretrain_gpt.py --a $A", "[--a] [2]"},
    {"for t in 4 5; do A=$t; break; A=8; done\npretrain_gpt.py --a $A", "[--a] [4]"},
    {"for t in 4 5; do [ $t = 4 ] && continue; A=$t; done\npretrain_gpt.py --a $A", "[--a] [5]"},
    {"for i in 1 2; do for j in 1 2; do break 2; done; A=1; done\npretrain_gpt.py --a ${A-0}",
     "[--a] [0]"},
    {"A=()\nfor x in b c; do A+=(\"--$x\"); done\npretrain_gpt.py \"${A[@]}\"", "[--b] [--c]"},
    {"for ((i=0; i<3; i++)); do A=$i; done\npretrain_gpt.py --a $A $i", "[--a] [2] [3]"},
    {"A=1\nwhile [ $A -lt 5 ]; do A=$((A*2)); done\npretrain_gpt.py --a $A", "[--a] [8]"},
    {"A=1\nuntil [ $A -ge 5 ]; do let A+=3; done\npretrain_gpt.py --a $A", "[--a] [7]"},
    {"case a in a) A=1 ;& b) B=2 ;; *) C=3 ;; esac\npretrain_gpt.py --a $A $B ${C-0}",
     "[--a] [1] [2] [0]"},
    {"case a in a) A=1 ;;& b) B=2 ;; *) C=3 ;; esac\npretrain_gpt.py --a $A ${B-0} $C",
     "[--a] [1] [0] [3]"},
    {"A=1\necho x | A=4\nA=5 &\npretrain_gpt.py --a $A", "[--a] [1]"},
    {"A=1\nfalse && echo x | cat || A=2\npretrain_gpt.py --a $A", "[--a] [2]"},
    {"i=1\nj=$((i++))$((i*=4))\npretrain_gpt.py --a $i $j $((--i, i)) $((0 && i++)) $i",
     "[--a] [8] [18] [7] [0] [7]"},
    {"A=010\npretrain_gpt.py --a $((0x4)) $((A))", "[--a] [4] [8]"},
    {"declare -i A=4\nA+=4\npretrain_gpt.py --a $A", "[--a] [8]"},
    {"A=1\ndeclare -n B=A\nB=8\npretrain_gpt.py --a $A $B", "[--a] [8] [8]"},
    {"B=4\nread -r -d '' A <<X\npretrain_gpt.py --a $B \\\n  \"c d\"\nX\nbash -c \"$A\"",
     "[--a] [4] [c d]"},
    {"read -r -d '' A <<'X'\npretrain_gpt.py --a ${B-$0}\nX\nB=3\neval \"$A\"", "[--a] [3]"},
    {"case 8b in 8[Bb]) A=1 ;; *) A=2 ;; esac\ncase h100-x in h?00-*) B=1 ;; esac\n"
     "pretrain_gpt.py --a $A $B",
     "[--a] [1] [1]"},
    {"[[ - == [a-c] ]] && A=1\n[[ b == [a-c] ]] && B=2\npretrain_gpt.py --a $A $B",
     "[--a] [$A] [2]"},
    {"[[ 4 == [!0-3] ]] && A=1\n[[ a == \\? ]] || B=2\npretrain_gpt.py --a $A $B",
     "[--a] [1] [${B}]"},
    {"X=bf16-fp8\n[[ $X == *\"fp8\"* ]] && A=1\n[ $X = bf* ] && B=1\n"
     "pretrain_gpt.py --a $A $B",
     "[--a] [1] [${B}]"},
    {"pretrain_gpt.py --a $\"b c\"", "[--a] [b c]"},
    {"C=$(x)\nbash -c \"$C\"",
     "t.sh: no training is started: expected a command with pretrain_gpt.py or another program, "
     "and Megatron's flags behind it (line 2 runs bash -c $(x), which is not read)"},
    {"{ A=1; }\npretrain_gpt.py --a $A > log 2>&1 < /dev/null | tee x", "[--a] [1]"},
    {"cat << 'X' > f\nA=1 '\nX\npretrain_gpt.py --a ${A:-2}", "[--a] [2]"},
    {"[ $# -lt 1 ] && { echo usage; exit 1; }\npretrain_gpt.py --a 1", "[--a] [1]"},
    {"exit 0\npretrain_gpt.py --a 1",
     "t.sh: no training is started: expected a command with pretrain_gpt.py or another program, "
     "and Megatron's flags behind it"},
    /* Words that commands would print, patterns, braces, lists filled by loops: as bash does. */
    {"A=ab.c.d; pretrain_gpt.py --a ${A%.*} ${A%%.*} ${A#*.} ${A##*.} ${A%.x} ${A##*/}",
     "[--a] [ab.c] [ab] [c.d] [d] [ab.c.d] [ab.c.d]"},
    {"A=/x/y/z.sh; pretrain_gpt.py --a ${A##*/} ${A%/*} $(basename $A .sh) $(dirname $A) "
     "$(basename $A)",
     "[--a] [z.sh] [/x/y] [z] [/x/y] [z.sh]"},
    {"A=a-b-c; pretrain_gpt.py --a ${A/-/_} ${A//-/_} ${A/#a/z} ${A/%c/z} ${A//-} ${A^^} ${A:2} "
     "${A:0:1} ${A: -1}",
     "[--a] [a_b-c] [a_b_c] [z-b-c] [a-b-z] [abc] [A-B-C] [b-c] [a] [c]"},
    {"A=(1 2 3 4); pretrain_gpt.py --a \"${A[@]:1}\" \"${A[@]:1:2}\" \"${A[@]/3/x}\"",
     "[--a] [2] [3] [4] [2] [3] [1] [2] [x] [4]"},
    {"f() { pretrain_gpt.py --a \"${@:2}\" \"${@:1:1}\"; }; f x y z", "[--a] [y] [z] [x]"},
    {"pretrain_gpt.py --a $(seq 3) $(seq 2 4) $(seq 0 2 6) $(seq -s, 1 3) $(seq 3 1)",
     "[--a] [1] [2] [3] [2] [3] [4] [0] [2] [4] [6] [1,2,3]"},
    {"pretrain_gpt.py --a {1..3} x{a,b}y {3..1} \"{1..2}\" a{b",
     "[--a] [1] [2] [3] [xay] [xby] [3] [2] [1] [{1..2}] [a{b]"},
    {"pretrain_gpt.py --a $(expr 3 + 4) $(expr 8 \\* 2) `expr 9 / 2` $(( $(echo 4) * 2 ))",
     "[--a] [7] [16] [4] [8]"},
    {"N=5; arr=(); for ((i=0;i<N;i++)); do if (( i < 2 )); then arr+=(0); else arr+=(1); fi; done; "
     "printf -v F \"[%s]\" \"$(IFS=', '; echo \"${arr[*]}\")\"; pretrain_gpt.py --a $F",
     "[--a] [[0,0,1,1,1]]"},
    {"S=\"\"; for i in $(seq 1 4); do S+=\"$i,\"; done; pretrain_gpt.py --a \"[${S%,}]\"",
     "[--a] [[1,2,3,4]]"},
    {"A=$(printf \"%s,\" a b c); pretrain_gpt.py --a ${A%,} \"$(printf '%02d-%s' 7 x)\" \"$(printf "
     "'%5s|%-5s|' ab cd)\"",
     "[--a] [a,b,c] [07-x] [   ab|cd   |]"},
    {"A=$(echo \"a b  c\" | tr ' ' ,); B=$(echo 1,2,3 | cut -d, -f2); pretrain_gpt.py --a $A $B "
     "$(echo \"a b c\" | wc -w) $(echo 3*4 | bc) ",
     "[--a] [a,b,,c] [2] [3] [12]"},
    {"IFS=, read -r x y <<< \"1,2\"; pretrain_gpt.py --a $x $y", "[--a] [1] [2]"},
    {"IFS=',' read -ra P <<< \"a,b,c\"; pretrain_gpt.py --a \"${P[@]}\" ${#P[@]}",
     "[--a] [a] [b] [c] [3]"},
    {"while read a b; do C+=\" --$a $b\"; done <<X\ntp 4\npp 2\nX\npretrain_gpt.py $C",
     "[--tp] [4] [--pp] [2]"},
    {"get() { if [ $1 = 7B ]; then echo 32; else echo 40; fi; }; pretrain_gpt.py --a $(get 7B) "
     "`get 13B`",
     "[--a] [32] [40]"},
    {"declare -A M=([7B]=32 [13B]=40); M[70B]=80; K=13B; pretrain_gpt.py --a ${M[$K]} ${M[70B]} "
     "${M[x]:-none}",
     "[--a] [40] [80] [none]"},
    {"A=(); for i in 0 1 2; do A[$i]=$((i*i)); done; A[1]=9; pretrain_gpt.py --a \"${A[@]}\"",
     "[--a] [0] [9] [4]"},
    {"V=TP; TP=4; pretrain_gpt.py --a ${!V}", "[--a] [4]"},
    {"cat <<X > f.txt\na 1\nX\npretrain_gpt.py --a $(cat f.txt)", "[--a] [a] [1]"},
    {"A=\"x\ny z\"; pretrain_gpt.py --a $(echo \"$A\" | tail -n 1) $(echo \"$A\" | head -1) "
     "\"$(echo \"$A\" | paste -sd,)\"",
     "[--a] [y] [z] [x] [x,y z]"},
    {"pretrain_gpt.py --a $(echo BS-LR | sed \"s/BS/8/;s/LR/1e-4/\" ) $(echo \"  a   b \" | xargs)",
     "[--a] [8-1e-4] [a] [b]"},
    {"pretrain_gpt.py --a \"$(echo -n x)y\" $(echo $(echo deep $(echo er)))",
     "[--a] [xy] [deep] [er]"},
    {"A=$'a\\tb\\n'; pretrain_gpt.py --a \"$A\" $'it\\'s'", "[--a] [a\tb\n] [it's]"},
    {"A=7B; case $A in 7[bB]|8B) L=32;; *) L=1;; esac; pretrain_gpt.py --a $L \"$([ $A = 7B ] && "
     "echo yes || echo no)\"",
     "[--a] [32] [yes]"},
    {"A=\"1 2\"; set -- $A; pretrain_gpt.py --a $# \"$2\" \"$*\"", "[--a] [2] [2] [1 2]"},
    {"A=8x4; N=${A%x*}; G=${A#*x}; pretrain_gpt.py --a $((N*G)) ${#A} ${A/x/ }",
     "[--a] [32] [3] [8] [4]"},
    {"eval \"A_7B=32\"; n=A_7B; eval B=\\$$n; pretrain_gpt.py --a $B", "[--a] [32]"},
    {"A=(a b); A+=(\"c d\"); pretrain_gpt.py --a \"${A[*]}\" \"${A[-1]}\" \"${#A[1]}\"",
     "[--a] [a b c d] [c d] [1]"},
    {"export A=Ab; pretrain_gpt.py --a ${A,,} ${A^} $(echo $A | tr '[:upper:]' '[:lower:]') $(echo "
     "$A | tr a-z A-Z)",
     "[--a] [ab] [Ab] [ab] [AB]"},
    {"f() { local x=$1; echo \"err\" >&2; printf \"%d\" $((x*2)); }; pretrain_gpt.py --a $(f 4)",
     "[--a] [8]"},
    {"X=$(for i in 1 2 3; do echo -n \"$i \"; done); pretrain_gpt.py --a $X \"$X\"",
     "[--a] [1] [2] [3] [1 2 3 ]"},
    /* Shells and scripts that are started. */
    {"cat <<X > run.sh\nTP=\\$1\npretrain_gpt.py --a $B \\$TP\nX\nB=1\nbash run.sh 4",
     "[--a] [$B] [4]"},
    {"export B=2\nC=3\ncat > run.sh <<'X'\npretrain_gpt.py --a $B ${C-} $2\nX\nchmod +x run.sh\n"
     "srun -N 2 ./run.sh 4 8",
     "[--a] [2] [8]"},
    {"B=2\nsrun bash <<X\ncd y\npretrain_gpt.py --a $B\nX", "[--a] [2]"},
    {"B=2\nbash -s 5 <<'X'\npretrain_gpt.py --a ${B-3} $1\nX", "[--a] [3] [5]"},
    {"echo \"pretrain_gpt.py --a 1\" | sh", "[--a] [1]"},
    {"A=$(printf 'pretrain_gpt.py --a %s' 7)\npdsh -w h[1-4] \"cd x && $A\"", "[--a] [7]"},
    {"sbatch --nodes=2 <<X\n#!/bin/bash\npretrain_gpt.py --a 1\nX", "[--a] [1]"},
    {"docker run --rm image sh -c 'pretrain_gpt.py --a 1'", "[--a] [1]"},
    {"cat <<X > part.sh\nA=3\nX\nsource part.sh\npretrain_gpt.py --a $A", "[--a] [3]"},
    {"env A=1 python -m my.pretrain --num-layers 1 --hidden-size 2 --bf16",
     "[--num-layers] [1] [--hidden-size] [2] [--bf16]"},
    {"bash -x -c 'pretrain_gpt.py --a $1' x 1", "[--a] [1]"},
    {"MODEL_ARGS=\" --num-layers 4 --hidden-size 64 --bf16 \"",
     "[--num-layers] [4] [--hidden-size] [64] [--bf16]"},
    /* What only a run tells stays unknown. */
    {"A=$(date +%s | cut -c1-4)\npretrain_gpt.py --a $A $(seq 1 $B) $(nproc)",
     "[--a] [$(date +%s | cut -c1-4)] [$(seq 1 $B)] [$(nproc)]"},
    {"A=$(if [ -f x ]; then echo 1; else echo 2; fi)\npretrain_gpt.py --a $A",
     "[--a] [$(if [ -f x ]; then echo 1; else echo 2; fi)]"},
    {"A=x$B\npretrain_gpt.py --a ${A%x} ${A:1}", "[--a] [${A%x}] [${A:1}]"},
    /* What no shell takes. */
    {"A=1\nB='x\n", "t.sh:2: the quote ' that opens here is not closed"},
    {"\nB=\"x$(\n", "t.sh:2: the ( that opens here is not closed"},
    {"A=(1\n2", "t.sh:1: the ( that opens here is not closed"},
    {"\nif true; then\nA=1\n", "t.sh:2: the if that begins here lacks its fi"},
    {"while true; A=1; done", "t.sh:1: the while that begins here lacks its do"},
    {"A=1\ndone", "t.sh:2: done stands where nothing is open that it could close"},
    {"[[ -f x", "t.sh:1: the [[ that opens here is not closed by ]]"},
    {"A=\001", "t.sh:1: has the control character 0x01: a launch script is text"},
    {"f() { f; }\nf", "t.sh:1: commands and variables are nested too deeply to be followed"},
};

static void test_small_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct arena mem;
        struct launch l;
        struct error err = {0};
        struct str words;
        arena_init(&mem);
        str_init(&words);
        if (script_read("t.sh", CASES[i].script, strlen(CASES[i].script), NULL, 0, false, &l, &mem,
                        &err))
            add_words(&l, &mem, &words);
        else
            str_add(&words, err.text);
        if (strcmp(str_text(&words), CASES[i].words) != 0)
            print_error("script: %s\n", CASES[i].script);
        assert_string_equal(str_text(&words), CASES[i].words);
        str_release(&words);
        arena_release(&mem);
    }
}

/* --env counts more than the script, also for its arguments. */
static void test_env(void **state)
{
    static const char script[] = "A=1\nB=${B:-2}\nfor C in 1 2; do\n"
                                 "pretrain_gpt.py --a $A $B $C $1 $2 $#\ndone\n";
    static const struct script_env env[] = {
        {"A", "8", false}, {"C", "x y", false}, {"1", "first", false}};
    struct arena mem;
    struct launch l;
    struct error err;
    struct str words;
    (void)state;
    arena_init(&mem);
    str_init(&words);
    assert_true(script_read("t.sh", script, strlen(script), env, 3, false, &l, &mem, &err));
    add_words(&l, &mem, &words);
    assert_string_equal(str_text(&words), "[--a] [8] [2] [x] [y] [first] [$2] [1]");
    str_release(&words);
    arena_release(&mem);
}

static void add_launch(struct launch *l, struct arena *mem, struct str *out)
{
    struct launch_flags f;
    launch_split(l, &f, mem);
    str_addf(out, "%s, program %s, line %d, %lld GPUs (%lld x %lld)\n", l->kind,
             l->program ? l->program : "-", l->line, (long long)l->gpus, (long long)l->nodes,
             (long long)l->per_node);
    for (int i = 0; i < f.count; i++)
        str_addf(out, "%s%s", strncmp(f.word[i], "--", 2) == 0 ? (i ? "\n" : "") : " ", f.word[i]);
    str_add(out, "\n");
    for (int i = 0; i < f.opens; i++)
        str_addf(out, "open: %s%s%s\n", f.open[i].what, f.open[i].give ? ": give " : "",
                 f.open[i].give ? f.open[i].give : "");
    for (int i = 0; i < l->notes.count; i++)
        str_addf(out, "note: %s\n", l->notes.text[i]);
}

static bool read_file(const char *path, const struct text *t, struct launch *l, struct arena *mem,
                      struct error *err)
{
    struct train_log log;
    train_log_init(&log, mem);
    train_log_feed(&log, t->data, t->length);
    bool found = train_log_launch(&log, path, l);
    train_log_release(&log);
    if (found)
        return true;
    if (overrides_are(t->data, t->length))
        return overrides_read(path, t->data, t->length, l, mem, err);
    if (yaml_launch_is(t->data, t->length))
        return yaml_launch_read(path, t->data, t->length, NULL, 0, true, l, mem, err);
    return script_read(path, t->data, t->length, NULL, 0, true, l, mem, err) &&
           overrides_of_launch(l, mem, err);
}

/* tests/import/NAME beside what it says, tests/import/expected/NAME. */
static void test_files(void **state)
{
    struct arena mem;
    struct error err = {0};
    const char *const *name;
    int files = 0;
    (void)state;
    arena_init(&mem);
    assert_true(folder_names("tests/import", &mem, &name, &err));
    for (; *name; name++) {
        const char *path = arena_format(&mem, "tests/import/%s", *name);
        struct text text, expected;
        struct launch l;
        struct str got;
        if (folder_exists(path))
            continue;
        str_init(&got);
        assert_true(file_read(path, &mem, &text, &err));
        if (read_file(path, &text, &l, &mem, &err))
            add_launch(&l, &mem, &got);
        else
            str_add(&got, err.text);
        if (!file_read(arena_format(&mem, "tests/import/expected/%s", *name), &mem, &expected,
                       &err))
            print_error("%s", str_text(&got));
        else if (strcmp(str_text(&got), expected.data) != 0)
            fprintf(stderr, "%s says:\n%s--\n", path, str_text(&got)); /* print_error cuts */
        assert_string_equal(str_text(&got), expected.data);
        str_release(&got);
        files++;
    }
    assert_true(files >= 15);
    arena_release(&mem);
}

/* Sorted by flag, and what stands for a flag is flags of Megatron's. */
static void test_dialects(void **state)
{
    static const struct foreign_flag ROWS[] = {
#define FOREIGN(name, value, treatment, text) {name, value, treatment, text},
#include "import/megatron/foreign_flags.def"
#undef FOREIGN
    };
    char word[64];
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        assert_true(i == 0 || strcmp(ROWS[i - 1].name, ROWS[i].name) <= 0);
        for (const char *at = ROWS[i].treatment == MEANS ? ROWS[i].text : "";
             next_word(&at, word, sizeof word);)
            if (strncmp(word, "--", 2) == 0)
                assert_true(words_most_values(word) >= 0);
        assert_true(ROWS[i].treatment == MEANS ||
                    (ROWS[i].treatment == HARMLESS || ROWS[i].treatment == READ) == !*ROWS[i].text);
    }
}

/* Recipes are of models with a preset, and their settings have flags. */
static void test_recipes(void **state)
{
    struct arena mem;
    char word[512];
    (void)state;
    arena_init(&mem);
    for (const struct bridge_recipe *r = bridge_recipes(); r->name; r++) {
        struct dest_list list;
        dest_list_init(&list, DEST_OVERRIDE, &mem);
        assert_true(r == bridge_recipes() || strcmp(r[-1].name, r->name) < 0);
        assert_non_null(model_named(r->model));
        assert_true(r->tp > 0 && r->pp > 0 && r->cp > 0 && r->micro > 0 && r->batch > 0);
        for (const char *at = r->others; next_word(&at, word, sizeof word);) {
            size_t n = strcspn(word, "=");
            assert_true(word[n]);
            word[n] = 0;
            if (bridge_is_of_adapters(word))
                continue;
            if (!dest_add(&list, word, word + n + 1, 1))
                fail_msg("%s: %s has no flag", r->name, word);
        }
        assert_int_equal(list.unknowns, 0);
    }
    arena_release(&mem);
}

/* Models of Primus are sorted, and their settings have flags. */
static void test_primus_models(void **state)
{
    static const struct {
        const char *name, *settings;
    } ROWS[] = {
#define PRIMUS(name, settings) {name, settings},
#include "import/megatron/primus_models.def"
#undef PRIMUS
    };
    struct arena mem;
    char word[96];
    (void)state;
    arena_init(&mem);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct dest_list list;
        dest_list_init(&list, DEST_LOG, &mem);
        assert_true(i == 0 || strcmp(ROWS[i - 1].name, ROWS[i].name) < 0);
        for (const char *at = ROWS[i].settings; next_word(&at, word, sizeof word);) {
            size_t n = strcspn(word, "=");
            assert_true(word[n]);
            word[n] = 0;
            if (!dest_add(&list, word, word + n + 1, 1))
                fail_msg("%s: %s has no flag", ROWS[i].name, word);
        }
        assert_int_equal(list.unknowns, 0);
    }
    arena_release(&mem);
}

/* Trainings of NeMo's launcher are sorted, and their settings have flags. */
static void test_trainings(void **state)
{
    static const struct {
        const char *name;
        int nodes, each;
        const char *settings;
    } ROWS[] = {
#define TRAINING(name, nodes, each, settings) {name, nodes, each, settings},
#include "import/megatron/nemo_trainings.def"
#undef TRAINING
    };
    struct arena mem;
    char word[96];
    (void)state;
    arena_init(&mem);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct dest_list list;
        dest_list_init(&list, DEST_OVERRIDE, &mem);
        assert_true(i == 0 || strcmp(ROWS[i - 1].name, ROWS[i].name) < 0);
        assert_true(ROWS[i].nodes > 0 && ROWS[i].each > 0);
        for (const char *at = ROWS[i].settings; next_word(&at, word, sizeof word);) {
            size_t n = strcspn(word, "=");
            assert_true(word[n]);
            word[n] = 0;
            if (!dest_add(&list, word, word + n + 1, 1))
                fail_msg("%s: %s has no flag", ROWS[i].name, word);
        }
        assert_int_equal(list.unknowns, 0);
    }
    arena_release(&mem);
}

/* What may be guessed of names that nobody knows. */
static void test_guesses(void **state)
{
    static const struct {
        const char *flag, *changes;
    } NAMES[] = {
        {"--log-batch-size-to-tensorboard", NULL},
        {"--zero-stage-of-mine", "memory and time"},
        {"--num-query-heads", "the model's shape"},
        {"--ds_parallel_size", "how the work is split"},
        {"--fused-thing", "the time"},
        {"--use-mpi", "anything"},
    };
    static const struct {
        const char *text;
        int entries;
    } TOKENIZERS[] = {
        {"/models/Meta-Llama-3-8B", 128256},
        {"GPTSentencePieceTokenizer", 0},
        {"/opt/train.sh", 0},
        {"Qwen2.5-7B", 152064},
        {"options.sh", 0},
        {"Llama2Tokenizer", 32000},
        {"mistralai/Mistral-7B-Instruct-v0.3", 32768},
        {"mistralai/Mistral-7B-v0.1", 32000},
        {"mistralai/Mistral-Nemo-Base-2407", 131072},
        {"alehc/swissai-tokenizer", 131072},
        {"allenai/OLMo-2-1124-7B", 100352},
        {"microsoft/Phi-4-mini-instruct", 200064},
        {"OPTTokenizer", 50272},
        {"scaling-tests", 0},
    };
    static const struct {
        const char *program;
        bool refused, noted;
    } PROGRAMS[] = {
        {"pretrain_gpt.py", false, false},
        {"pretrain_t5.py", true, false},
        {"quantize.py", true, false},
        {"validate.py", true, false},
        {"prune_and_train.py", true, false},
        {"pruned_gpt.py", false, false},
        {"mmlu.py", true, false},
        {"offline_feature_extract.py", true, false},
        {"pretrain_llava.py", false, true},
        {"megatron_mimo_training_llava.py", true, true},
        {"pretrain_mimo_7b.py", false, false},
        {"pretrain_prefix_lm.py", false, true},
        {"eval_humaneval.py", true, false},
        {"prepare_packed_data.py", true, false},
    };
    const char *name, *note;
    (void)state;
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
        bool refused = foreign_program(PROGRAMS[i].program, &note) != NULL;
        assert_int_equal(refused, PROGRAMS[i].refused);
        if (!refused)
            assert_int_equal(note != NULL, PROGRAMS[i].noted);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *changes = foreign_may_change(NAMES[i].flag);
        assert_true(changes == NAMES[i].changes ||
                    (changes && NAMES[i].changes && strcmp(changes, NAMES[i].changes) == 0));
    }
    assert_int_equal(tokenizer_size("a/bpe_131072/vocab.json"), 131072);
    assert_int_equal(tokenizer_size("a/test_150k_vocab_tokenizer"), 150000);
    assert_int_equal(tokenizer_size("a/llama-262k"), 0);            /* a context */
    assert_int_equal(tokenizer_size("a/tokenizer_20240131_7b"), 0); /* a day */
    for (size_t i = 0; i < sizeof TOKENIZERS / sizeof *TOKENIZERS; i++)
        assert_int_equal(tokenizer_entries(TOKENIZERS[i].text, &name), TOKENIZERS[i].entries);
}

static void test_names(void **state)
{
    static const char *const table[][2] = {
#define DEST(name, sources, kind, flag) {name, flag},
#include "import/megatron/dest_names.def"
#undef DEST
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(words_most_values(table[i][1]) >= 0 || foreign_knows(table[i][1]));
        assert_true(i == 0 || strcmp(table[i - 1][0], table[i][0]) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_scripts), cmocka_unit_test(test_env),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_trainings),     cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_primus_models), cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
