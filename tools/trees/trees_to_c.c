/* Prints the trees of a model as C: trees_to_c data/efficiency/gemm.ubj gives the tables of
 * builtin_trees_gemm (cost/trees.h). The build runs it for every model that is compiled in, so that
 * the program finds nothing to read when it starts; a model that it would not read stops the build. */
#include "base/arena.h"
#include "base/file.h"
#include "cost/trees.h"

#include <stdio.h>
#include <string.h>

enum { PER_LINE = 8 };

/* In hexadecimal: every bit. */
static void print_floats(const char *name, const float *x, size_t count)
{
    printf("static const float %s[] = {", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%af,", i % PER_LINE ? " " : "\n    ", (double)x[i]);
    printf("\n};\n");
}

static void print_bytes(const char *name, const unsigned char *x, size_t count)
{
    printf("static const unsigned char %s[] = {", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%d,", i % (2 * PER_LINE) ? " " : "\n    ", x[i]);
    printf("\n};\n");
}

static void print_trees(const struct trees *t, const char *name, int length)
{
    size_t inner = trees_groups(t) * trees_inner(t) * TREES_LANES;
    printf("/* Made by tools/trees from %.*s.ubj. */\n#include \"cost/trees.h\"\n\n", length, name);
    print_floats("threshold", t->threshold, inner);
    print_bytes("column", t->column, inner);
    print_floats("leaf", t->leaf, inner + trees_groups(t) * TREES_LANES);
    printf("extern const struct trees builtin_trees_%.*s;\n", length, name);
    printf("const struct trees builtin_trees_%.*s = {%d, %d, %d, %af, threshold, column, leaf};\n",
           length, name, t->count, t->depth, t->columns, (double)t->base_score);
}

int main(int count, char **word)
{
    struct arena mem = {0};
    struct error err = {0};
    struct text file;
    struct trees trees;
    if (count != 2)
        return fputs("trees_to_c MODEL.ubj\n", stderr), 2;
    if (!file_read(word[1], &mem, &file, &err) ||
        !trees_read(&trees, file.data, file.length, word[1], &mem, &err))
        return fprintf(stderr, "trees_to_c: %s\n", err.text), 2;
    const char *slash = strrchr(word[1], '/'), *name = slash ? slash + 1 : word[1];
    print_trees(&trees, name, (int)strcspn(name, "."));
    arena_release(&mem);
    return ferror(stdout) || fflush(stdout) != 0 ? 3 : 0;
}
