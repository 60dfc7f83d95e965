/* Completions for bash, from version 3.2 on. Readline begins a new word at ':' and '=', which stand
 * inside of pools and settings: the script splits the line itself, completes whole words, and
 * answers with what readline takes for the last of them. Names are answered without quotes, which
 * readline sets. */
#include "completions.h"

#include <stdio.h>

static const char *const KINDS[] = {
    [ASTRA_TAKES_NOTHING] = "none",    [ASTRA_TAKES_ANY] = "free",
    [ASTRA_TAKES_WORD] = "words",      [ASTRA_TAKES_MODEL] = "model",
    [ASTRA_TAKES_POOL] = "pool",       [ASTRA_TAKES_GPU] = "gpu",
    [ASTRA_TAKES_GPU_VALUE] = "ofgpu", [ASTRA_TAKES_PARAM] = "parameter",
    [ASTRA_TAKES_FILE] = "file",       [ASTRA_TAKES_FOLDER] = "folder",
};

static void print_names(struct astra *a, const char *variable, const char *of)
{
    printf("_astra_%s='%s'\n", variable, astra_names(a, of));
}

static void print_command_words(void)
{
    printf("_astra_commands='");
    for (const struct command *c = commands(); c->name; c++)
        printf("%s ", c->name);
    puts("'");
    printf("_astra_own_commands='");
    for (const struct own_command *c = own_commands(); c->name; c++)
        printf("%s ", c->name);
    puts("'");
}

static void print_options(void)
{
    const struct astra_option *o;
    puts("_astra_options() { # COMMAND\n    case $1 in");
    for (const struct command *c = commands(); c->name; c++) {
        printf("    %s) echo '", c->name);
        for (int i = 0; (o = option_at(c, i)); i++)
            printf("--%s ", o->name);
        puts("' ;;");
    }
    puts("    esac\n}");
}

/* "COMMAND --OPTION": options of one name may differ between commands. */
static void print_kinds(void)
{
    const struct astra_option *o;
    puts("_astra_kind() { # COMMAND OPTION: what its value is\n    case \"$1 $2\" in");
    for (const struct command *c = commands(); c->name; c++)
        for (int i = 0; (o = option_at(c, i)); i++) {
            printf("    '%s --%s') echo '%s", c->name, o->name, KINDS[o->takes]);
            if (o->takes == ASTRA_TAKES_WORD) {
                putchar(' ');
                print_words(o->argument);
            }
            puts("' ;;");
        }
    for (const struct command *c = commands(); c->name; c++)
        if (*c->arguments)
            printf("    '%s ') echo 'file' ;;\n", c->name);
    for (const struct own_command *c = own_commands(); c->name; c++)
        if (takes_words(c)) {
            printf("    '%s ') echo 'words ", c->name);
            print_words(c->arguments);
            puts("' ;;");
        } else if (*c->arguments) {
            printf("    '%s ') echo \"words $_astra_commands\" ;;\n", c->name);
        }
    puts("    *) echo none ;;\n    esac\n}");
}

static const char *const BODY =
    "# Prints files, or with -d folders, that begin with a word. Within a quoted word compgen "
    "takes\n"
    "# quotes in the name for the line's.\n"
    "_astra_files() { # -f|-d WORD\n"
    "    local name\n"
    "    case $2 in\n"
    "    *[\\\\\\'\\\"]*)\n"
    "        for name in \"$2\"*; do\n"
    "            if [ \"$1\" = -f ] || [ -d \"$name\" ]; then [ ! -e \"$name\" ] || printf '%s\\n' "
    "\"$name\"; fi\n"
    "        done ;;\n"
    "    *) compgen \"$1\" -- \"$2\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# Prints values of a kind that begin with a word, a line each.\n"
    "_astra_values() { # WORD KIND [WORDS...]\n"
    "    local word=$1 kind=$2\n"
    "    shift 2\n"
    "    case $kind in\n"
    "    words) compgen -W \"$*\" -- \"$word\" ;;\n"
    "    model) compgen -W \"$_astra_models\" -- \"$word\"; _astra_files -f \"$word\" ;;\n"
    "    gpu) compgen -W \"$_astra_gpus\" -- \"$word\" ;;\n"
    "    ofgpu) compgen -S = -W \"$_astra_gpus\" -- \"$word\" ;;\n"
    "    parameter) compgen -S = -W \"$_astra_parameters\" -- \"$word\" ;;\n"
    "    pool)\n"
    "        case $word in\n"
    "        *:*) compgen -P \"${word%:*}:\" -W \"$_astra_gpus\" -- \"${word##*:}\" ;;\n"
    "        *) _astra_files -f \"$word\" ;;\n"
    "        esac ;;\n"
    "    file) _astra_files -f \"$word\" ;;\n"
    "    folder) _astra_files -d \"$word\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# Splits what stands before the cursor into words, without their quotes: all but the last "
    "into\n"
    "# words of _astra, the last into word. Readline has cut it at cut: behind an open quote, or "
    "behind\n"
    "# the last character that breaks words and is not quoted.\n"
    "_astra_split() { # LINE\n"
    "    local i char quote='' begun='' before=0\n"
    "    for ((i = 0; i < ${#1}; i++)); do\n"
    "        char=${1:i:1}\n"
    "        if [ -z \"$quote\" ] && [[ $char == [[:space:]] ]]; then\n"
    "            if [ -n \"$begun\" ]; then words+=(\"$word\"); fi\n"
    "            word='' begun='' cut=0\n"
    "            continue\n"
    "        fi\n"
    "        begun=1\n"
    "        case $quote$char in\n"
    "        \"''\" | '\"\"') quote='' cut=$before ;;\n"
    "        \\'? | '\"'[!\\\\]) word+=$char ;;\n"
    "        \\' | '\"') quote=$char before=$cut cut=${#word} ;;\n"
    "        \\\\)\n"
    "            i=$((i + 1))\n"
    "            word+=${1:i:1} ;;\n"
    "        '\"'\\\\)\n"
    "            case ${1:i+1:1} in\n"
    "            [\\\"\\\\\\$\\`])\n"
    "                i=$((i + 1))\n"
    "                char=${1:i:1} ;;\n"
    "            esac\n"
    "            word+=$char ;;\n"
    "        *)\n"
    "            word+=$char\n"
    "            case $COMP_WORDBREAKS in *\"$char\"*) cut=${#word} ;; esac ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "\n"
    "_astra() {\n"
    "    local word='' cut=0 command='' before='' prefix='' kind value\n"
    "    local -a words\n"
    "    words=()\n"
    "    COMPREPLY=()\n"
    "    _astra_split \"${COMP_LINE:0:COMP_POINT}\"\n"
    "    if [ ${#words[@]} -gt 1 ]; then command=${words[1]}; fi\n"
    "    if [ ${#words[@]} -gt 2 ]; then before=${words[$((${#words[@]} - 1))]}; fi\n"
    "    case $before in --*=*) before='' ;; -o) before=--output ;; esac\n"
    "    case $before in\n"
    "    --*) kind=$(_astra_kind \"$command\" \"$before\") ;;\n"
    "    *) kind=none ;;\n"
    "    esac\n"
    "    if [ -z \"$command\" ]; then\n"
    "        kind=\"words $_astra_commands $_astra_own_commands\"\n"
    "    elif [[ \" ${words[*]} \" == *' -- '* ]]; then\n"
    "        kind='file'\n"
    "    elif [ \"$kind\" != none ]; then\n"
    "        :\n"
    "    elif [[ $word == --*=* ]]; then\n"
    "        kind=$(_astra_kind \"$command\" \"${word%%=*}\")\n"
    "        prefix=${word%%=*}=\n"
    "    elif [[ $word == -* ]]; then\n"
    "        kind=\"words $(_astra_options \"$command\")\"\n"
    "    else\n"
    "        kind=$(_astra_kind \"$command\" '')\n"
    "    fi\n"
    "    case ${kind%% *} in\n"
    "    file | folder | model | pool) compopt -o filenames 2>/dev/null ;;\n"
    "    esac\n"
    "    case ${kind%% *} in\n"
    "    ofgpu | parameter | pool) compopt -o nospace 2>/dev/null ;;\n"
    "    esac\n"
    "    while IFS= read -r value; do\n"
    "        value=$prefix$value\n"
    "        COMPREPLY+=(\"${value:cut}\")\n"
    "    done < <(_astra_values \"${word#\"$prefix\"}\" $kind)\n"
    "}\n"
    "\n"
    "complete -F _astra astra";

void print_bash(struct astra *a)
{
    puts("# Completions of astra for bash, made by `astra completions bash`.");
    print_names(a, "gpus", "gpus");
    print_names(a, "models", "models");
    print_names(a, "parameters", "parameters");
    print_command_words();
    print_options();
    print_kinds();
    puts(BODY);
}
