# Completions offer what the program takes: in bash by the script itself, in zsh and fish where they
# are installed. Every option of every command is offered; values are those that there are.
set -eu
for shell in bash zsh fish; do "$ASTRA" completions $shell >"$SCRATCH/astra.$shell"; done
bash -n "$SCRATCH/astra.bash"
shellcheck -s bash -e SC2086 "$SCRATCH/astra.bash" # kinds are lists of words

# Lines to complete: the line, then words that must be offered, then words that must not, with !.
# In bash words begin behind the last : or =.
cat >"$SCRATCH/lines" <<'END'
astra |search estimate man completions !--model
astra se|search !estimate
astra search --mo|--model !--to
astra export --t|--to !--tokens
astra search --model llama3-7|llama3-70b !llama3-8b
astra search --model=llama3-7|llama3-70b
astra search --cluster 64x8:H100-S|H100-SXM5-80GB H100-SXM !A100
astra search --cluster=4x8:A100,64x8:H100-S|H100-SXM5-80GB
astra search --precision |bf16 fp16 fp8
astra search --precision=f|fp16 fp8 !bf16
astra search --stats |!bf16
astra search --stats --prec|--precision
astra search --set tp_o|tp_overlap=
astra search --set=tp_o|tp_overlap=
astra search --price H200-N|H200-NVL=
astra search --mtbf H200-N|H200-NVL=
astra prices --gpu H200-N|H200-NVL
astra export plan.json --to s|slurm skypilot !bridge
astra explain Make|Makefile
astra estimate -- Make|Makefile
astra search -o Make|Makefile
astra search --rules Make|Makefile
astra fit --into test|tests !Makefile
astra completions |bash zsh fish
astra man ex|explain export !search
astra frobnicate --|!--model
END

# OFFERED holds what a shell offers, a word a line.
check() { # SHELL LINE EXPECTED
    for word in $3; do
        case $word in
        !*) ! grep -qxF -- "${word#!}" "$SCRATCH/offered" ;;
        *) grep -qxF -- "$word" "$SCRATCH/offered" ;;
        esac || { echo "$1: '$2' and $word; offered:" && cat "$SCRATCH/offered" && exit 1; }
    done
}

cat >"$SCRATCH/ask.bash" <<'END'
. "$SCRATCH/astra.bash"
COMP_LINE=$1 COMP_POINT=${#1}
_astra
printf '%s\n' "${COMPREPLY[@]}"
END
while IFS='|' read -r line expected; do
    bash "$SCRATCH/ask.bash" "$line" >"$SCRATCH/offered"
    check bash "$line" "$expected"
done <"$SCRATCH/lines"

# Names with blanks and other characters that need quotes, whole and behind = or a closed quote.
odd=$SCRATCH/odd
mkdir -p "$odd/dir one" "$odd/it's"
: >"$odd/dir one/my rules"
: >"$odd/it's/here"
cat >"$SCRATCH/quoted" <<'END'
astra search --rules dir\ one/|dir one/my rules
astra search --rules dir\ one/my\ r|dir one/my rules
astra search --rules 'dir one/|dir one/my rules
astra search --rules "dir one/m|dir one/my rules
astra search --rules "dir one"/my' 'r|dir one/my rules
astra search --rules=dir\ one/|dir one/my rules
astra search --rules='dir one/m|dir one/my rules
astra search --rules di|dir one
astra search --rules it\'s/h|it's/here
astra search --rules "it's/|it's/here
astra search --model "a \"b\" c" --rules 'dir one/|dir one/my rules
astra search --model 'llama3-7|llama3-70b
astra search --cluster "2x8:B300-S|2x8:B300-SXM
END
while IFS='|' read -r line expected; do
    (cd "$odd" && bash "$SCRATCH/ask.bash" "$line") >"$SCRATCH/offered"
    grep -qxF -- "$expected" "$SCRATCH/offered" ||
        { echo "bash: '$line' and $expected; offered:" && cat "$SCRATCH/offered" && exit 1; }
done <"$SCRATCH/quoted"

# The same in readline's hands, which sets the quotes.
wait_until() { # COMMAND...
    tries=600
    until "$@" 2>/dev/null || [ $((tries -= 1)) -eq 0 ]; do sleep 0.1; done
}
has_lines() { [ "$(wc -l <"$SCRATCH/noted")" -ge "$1" ]; }
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    cat >"$SCRATCH/start.bash" <<'END'
. "$SCRATCH/astra.bash"
note() { printf '%s\n' "$READLINE_LINE" >>"$SCRATCH/noted"; READLINE_LINE='' READLINE_POINT=0; }
bind -x '"\C-g": note'
PROMPT_COMMAND=': >>"$SCRATCH/noted"'
cd "$SCRATCH/odd"
END
    {
        wait_until test -e "$SCRATCH/noted"
        printf '%s\t\a' 'astra search --rules dir\ one/' "astra search --rules 'dir one/" \
            'astra search --rules="dir one/m' 'astra search --rules "dir one"/m' \
            "astra search --rules it\\'s/" 'astra search --cluster 2x8:B300-S'
        wait_until has_lines 6
        printf 'exit\r'
    } | TERM=xterm script -qec "bash --noprofile --rcfile '$SCRATCH/start.bash' -i" /dev/null \
        >"$SCRATCH/raw"
    sed 's/ *$//' "$SCRATCH/noted" | diff - /dev/fd/3 3<<'END'
astra search --rules dir\ one/my\ rules
astra search --rules 'dir one/my rules'
astra search --rules="dir one/my rules"
astra search --rules dir\ one/my\ rules
astra search --rules it\'s/here
astra search --cluster 2x8:B300-SXM
END
fi

# Without : and = among the characters that break words, the whole word is the answer.
echo 'COMP_WORDBREAKS=" "; . "$SCRATCH/ask.bash"' >"$SCRATCH/whole.bash"
bash "$SCRATCH/whole.bash" 'astra search --cluster=64x8:H100-S' >"$SCRATCH/offered"
check bash whole --cluster=64x8:H100-SXM

# Each option that --help lists, in each script.
for command in $("$ASTRA" man --list | sed -n 's/^astra-//p'); do
    "$ASTRA" $command --help all | sed -n 's/^  --\([a-z-]*\).*/\1/p' >"$SCRATCH/options"
    [ -s "$SCRATCH/options" ]
    bash "$SCRATCH/ask.bash" "astra $command --" >"$SCRATCH/offered"
    sed -n "/^    $command)/,/;;/p" "$SCRATCH/astra.zsh" >"$SCRATCH/of_zsh"
    while read -r option; do
        check bash "$command" "--$option"
        grep -q -- "--$option[=[]" "$SCRATCH/of_zsh" || { echo "zsh: $command --$option"; exit 1; }
        grep -q -- "_from $command' -l $option " "$SCRATCH/astra.fish" ||
            { echo "fish: $command --$option"; exit 1; }
    done <"$SCRATCH/options"
done

if command -v fish >/dev/null; then
    export HOME="$SCRATCH" XDG_CONFIG_HOME="$SCRATCH" XDG_DATA_HOME="$SCRATCH"
    while IFS='|' read -r line expected; do
        fish -N -c 'source $argv[1]; complete -C $argv[2]' -- "$SCRATCH/astra.fish" "$line" |
            sed -e 's/	.*//' -e 's/^--[a-z]*=//' -e 's/.*://' -e 's,/$,,' >"$SCRATCH/offered"
        check fish "$line" "$expected"
    done <"$SCRATCH/lines"
fi

# zsh completes in an editor only: a word that is alone is filled in.
if command -v zsh >/dev/null; then
    mkdir "$SCRATCH/functions"
    cp "$SCRATCH/astra.zsh" "$SCRATCH/functions/_astra"
    zsh -n "$SCRATCH/astra.zsh"
    cat >"$SCRATCH/start.zsh" <<'END'
fpath=($SCRATCH/functions $fpath)
autoload -U compinit
compinit -u -D
note-line() { print -r -- "$BUFFER" >>"$SCRATCH/filled"; BUFFER=; }
zle -N note-line
bindkey '^X' note-line
bindkey '^I' complete-word
: >"$SCRATCH/filled"
END
    cat >"$SCRATCH/ask.zsh" <<'END'
zmodload zsh/zpty
wait_for() { # LINES in the file
    integer tries=600
    while ((tries-- > 0)) && { [ ! -e "$SCRATCH/filled" ] ||
        [ $(wc -l <"$SCRATCH/filled") -lt $1 ]; }; do
        while zpty -r -t shell shown; do :; done
        sleep 0.1
    done
}
zpty shell zsh -f -i
zpty -w shell '. "$SCRATCH/start.zsh"'
wait_for 0
integer asked=0
for line in "$@"; do
    zpty -w -n shell "$line"$'\t\x18'
    wait_for $((++asked))
done
zpty -d shell
END
    zsh -f "$SCRATCH/ask.zsh" 'astra sea' 'astra search --objec' 'astra search --model llama3-7' \
        'astra search --cluster 2x8:B300-S' 'astra search --set tp_o' 'astra completions fi' \
        'astra explain --stage sch' 'astra man expo' </dev/null
    sed 's/ *$//' "$SCRATCH/filled" >"$SCRATCH/got"
    cat >"$SCRATCH/want" <<'END'
astra search
astra search --objective=
astra search --model llama3-70b
astra search --cluster 2x8:B300-SXM
astra search --set tp_overlap=
astra completions fish
astra explain --stage schedule
astra man export
END
    diff "$SCRATCH/want" "$SCRATCH/got"
fi
