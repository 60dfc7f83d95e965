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
    [ASTRA_TAKES_NEW_FILE] = "file",
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

extern const char embedded_cli_complete_body_bash[];

void print_bash(struct astra *a)
{
    puts("# Completions of astra for bash, made by `astra completions bash`.");
    print_names(a, "gpus", "gpus");
    print_names(a, "models", "models");
    print_names(a, "parameters", "parameters");
    print_command_words();
    print_options();
    print_kinds();
    fputs(embedded_cli_complete_body_bash, stdout);
}
