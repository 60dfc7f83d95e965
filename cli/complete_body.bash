# Prints files, or with -d folders, that begin with a word. Within a quoted word compgen takes
# quotes in the name for the line's.
_astra_files() { # -f|-d WORD
    local name
    case $2 in
    *[\\\'\"]*)
        for name in "$2"*; do
            if [ "$1" = -f ] || [ -d "$name" ]; then [ ! -e "$name" ] || printf '%s\n' "$name"; fi
        done ;;
    *) compgen "$1" -- "$2" ;;
    esac
}

# Prints values of a kind that begin with a word, a line each.
_astra_values() { # WORD KIND [WORDS...]
    local word=$1 kind=$2
    shift 2
    case $kind in
    words) compgen -W "$*" -- "$word" ;;
    model) compgen -W "$_astra_models" -- "$word"; _astra_files -f "$word" ;;
    gpu) compgen -W "$_astra_gpus" -- "$word" ;;
    ofgpu) compgen -S = -W "$_astra_gpus" -- "$word" ;;
    parameter) compgen -S = -W "$_astra_parameters" -- "$word" ;;
    pool)
        case $word in
        *:*) compgen -P "${word%:*}:" -W "$_astra_gpus" -- "${word##*:}" ;;
        *) _astra_files -f "$word" ;;
        esac ;;
    file) _astra_files -f "$word" ;;
    folder) _astra_files -d "$word" ;;
    esac
}

# Splits what stands before the cursor into words, without their quotes: all but the last into
# words of _astra, the last into word. Readline has cut it at cut: behind an open quote, or behind
# the last character that breaks words and is not quoted.
_astra_split() { # LINE
    local i char quote='' begun='' before=0
    for ((i = 0; i < ${#1}; i++)); do
        char=${1:i:1}
        if [ -z "$quote" ] && [[ $char == [[:space:]] ]]; then
            if [ -n "$begun" ]; then words+=("$word"); fi
            word='' begun='' cut=0
            continue
        fi
        begun=1
        case $quote$char in
        "''" | '""') quote='' cut=$before ;;
        \'? | '"'[!\\]) word+=$char ;;
        \' | '"') quote=$char before=$cut cut=${#word} ;;
        \\)
            i=$((i + 1))
            word+=${1:i:1} ;;
        '"'\\)
            case ${1:i+1:1} in
            [\"\\\$\`])
                i=$((i + 1))
                char=${1:i:1} ;;
            esac
            word+=$char ;;
        *)
            word+=$char
            case $COMP_WORDBREAKS in *"$char"*) cut=${#word} ;; esac ;;
        esac
    done
}

_astra() {
    local word='' cut=0 command='' before='' prefix='' kind value
    local -a words
    words=()
    COMPREPLY=()
    _astra_split "${COMP_LINE:0:COMP_POINT}"
    if [ ${#words[@]} -gt 1 ]; then command=${words[1]}; fi
    if [ ${#words[@]} -gt 2 ]; then before=${words[$((${#words[@]} - 1))]}; fi
    case $before in --*=*) before='' ;; -o) before=--output ;; esac
    case $before in
    --*) kind=$(_astra_kind "$command" "$before") ;;
    *) kind=none ;;
    esac
    if [ -z "$command" ]; then
        kind="words $_astra_commands $_astra_own_commands"
    elif [[ " ${words[*]} " == *' -- '* ]]; then
        kind='file'
    elif [ "$kind" != none ]; then
        :
    elif [[ $word == --*=* ]]; then
        kind=$(_astra_kind "$command" "${word%%=*}")
        prefix=${word%%=*}=
    elif [[ $word == -* ]]; then
        kind="words $(_astra_options "$command")"
    else
        kind=$(_astra_kind "$command" '')
    fi
    case ${kind%% *} in
    file | folder | model | pool) compopt -o filenames 2>/dev/null ;;
    esac
    case ${kind%% *} in
    ofgpu | parameter | pool) compopt -o nospace 2>/dev/null ;;
    esac
    while IFS= read -r value; do
        value=$prefix$value
        COMPREPLY+=("${value:cut}")
    done < <(_astra_values "${word#"$prefix"}" $kind)
}

complete -F _astra astra
