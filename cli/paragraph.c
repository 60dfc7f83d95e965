/* Help in as many columns as the terminal has; in a pipe or file as it was written. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

int text_columns(void)
{
    return is_terminal(1) ? terminal_columns() : 0;
}

/* What stays in one line: a word, or of a|b|c a part with the bar behind it. */
static int piece_width(const char *text)
{
    int width = (int)strcspn(text, " \n|");
    return width + (text[width] == '|');
}

/* `more` stands at the end of a line that goes on. */
static int print_wrapped(const char *text, int at, int indent, const char *more)
{
    int limit = text_columns() - (int)strlen(more);
    bool first = true;
    while (*text) {
        int blanks = (int)strspn(text, " \n"), width = piece_width(text += blanks);
        bool gap = blanks > 0 && !first;
        if (!first && at + gap + width > limit) {
            printf("%s\n%*s", more, indent, "");
            at = indent;
        } else if (gap) {
            putchar(' ');
            at++;
        }
        printf("%.*s", width, text);
        at += width;
        text += width;
        first = false;
    }
    return at;
}

int print_piece(const char *text, int at, int indent)
{
    return text_columns() == 0 ? at + printf("%s", text) : print_wrapped(text, at, indent, "");
}

void print_paragraph(const char *text, int at, int indent)
{
    print_piece(text, at, indent);
    putchar('\n');
}

void print_shell_command(const char *command, int indent)
{
    printf("%*s", indent, "");
    if (text_columns() == 0)
        fputs(command, stdout);
    else
        print_wrapped(command, indent, indent + 2, " \\");
    putchar('\n');
}
