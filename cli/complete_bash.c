/* Completions for bash, from version 3.2 on. Readline begins a new word at ':' and '=', which stand
 * inside of pools and settings: the script looks at the line itself, completes whole words, and
 * answers with what readline takes for the last of them. */
#include "completions.h"

#include <stdio.h>

static const char *const KINDS[] = {
    [VALUE_NONE] = "none",     [VALUE_FREE] = "free",       [VALUE_WORDS] = "words",
    [VALUE_MODEL] = "model",   [VALUE_POOL] = "pool",       [VALUE_GPU] = "gpu",
    [VALUE_OF_GPU] = "ofgpu",  [VALUE_PARAM] = "parameter", [VALUE_FILE] = "file",
    [VALUE_FOLDER] = "folder",
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
    struct offered o;
    puts("_astra_options() { # COMMAND\n    case $1 in");
    for (const struct command *c = commands(); c->name; c++) {
        printf("    %s) echo '", c->name);
        for (int i = 0; option_of(c, i, &o); i++)
            printf("--%s ", o.name);
        puts("' ;;");
    }
    puts("    esac\n}");
}

/* "COMMAND --OPTION": options of one name may differ between commands. */
static void print_kinds(void)
{
    struct offered o;
    puts("_astra_kind() { # COMMAND OPTION: what its value is\n    case \"$1 $2\" in");
    for (const struct command *c = commands(); c->name; c++)
        for (int i = 0; option_of(c, i, &o); i++) {
            enum value_kind kind = value_kind(o.argument);
            printf("    '%s --%s') echo '%s", c->name, o.name, KINDS[kind]);
            if (kind == VALUE_WORDS) {
                putchar(' ');
                print_words(o.argument);
            }
            puts("' ;;");
        }
    for (const struct command *c = commands(); c->name; c++)
        if (*c->arguments)
            printf("    '%s ') echo '%s' ;;\n", c->name, KINDS[value_kind(c->arguments)]);
    for (const struct own_command *c = own_commands(); c->name; c++)
        if (value_kind(c->arguments) == VALUE_WORDS) {
            printf("    '%s ') echo 'words ", c->name);
            print_words(c->arguments);
            puts("' ;;");
        } else if (*c->arguments) {
            printf("    '%s ') echo \"words $_astra_commands\" ;;\n", c->name);
        }
    puts("    *) echo none ;;\n    esac\n}");
}

static const char *const BODY =
    "# Prints values of a kind that begin with a word, a line each.\n"
    "_astra_values() { # WORD KIND [WORDS...]\n"
    "    local word=$1 kind=$2\n"
    "    shift 2\n"
    "    case $kind in\n"
    "    words) compgen -W \"$*\" -- \"$word\" ;;\n"
    "    model) compgen -W \"$_astra_models\" -- \"$word\"; compgen -f -- \"$word\" ;;\n"
    "    gpu) compgen -W \"$_astra_gpus\" -- \"$word\" ;;\n"
    "    ofgpu) compgen -S = -W \"$_astra_gpus\" -- \"$word\" ;;\n"
    "    parameter) compgen -S = -W \"$_astra_parameters\" -- \"$word\" ;;\n"
    "    pool)\n"
    "        case $word in\n"
    "        *:*) compgen -P \"${word%:*}:\" -W \"$_astra_gpus\" -- \"${word##*:}\" ;;\n"
    "        *) compgen -f -- \"$word\" ;;\n"
    "        esac ;;\n"
    "    file) compgen -f -- \"$word\" ;;\n"
    "    folder) compgen -d -- \"$word\" ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_astra() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} word command='' before='' prefix='' kind value "
    "breaks=''\n"
    "    local -a words\n"
    "    COMPREPLY=()\n"
    "    read -r -a words <<<\"$line\"\n"
    "    word=${line##*[[:space:]]}\n"
    "    if [ -n \"$word\" ]; then unset \"words[$((${#words[@]} - 1))]\"; fi\n"
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
    "    # Readline has cut the word behind the last of these.\n"
    "    case $COMP_WORDBREAKS in *:*) breaks=: ;; esac\n"
    "    case $COMP_WORDBREAKS in *=*) breaks=$breaks= ;; esac\n"
    "    local cut=0\n"
    "    if [ -n \"$breaks\" ] && [[ $word == *[$breaks]* ]]; then\n"
    "        value=${word##*[\"$breaks\"]}\n"
    "        cut=$((${#word} - ${#value}))\n"
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
