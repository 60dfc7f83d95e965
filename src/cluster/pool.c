/* Pool strings, read from left to right:
 *
 *     pool  = group { "," group }                     "1..16x8:A100@50, 8x8:H100"
 *     group = NODES "x" GPUS ":" TYPE [ "@" GBIT ]    blanks are allowed around a group
 *     NODES = number [ ".." number ]
 *
 * The reader stops at the first character that does not fit and names its column. */
#include "cluster/cluster.h"

#include "base/str.h"
#include "cluster/group.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct pool {
    const char *text, *at;
    struct error *err;
};

enum { SHOWN = 200 }; /* characters of a pool in a message: the place must not be cut off */

__attribute__((format(printf, 2, 3))) static bool wrong(struct pool *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail(p->err, ERROR_INPUT, "pool '%.*s%s': %s, at column %td", SHOWN, p->text,
         strlen(p->text) > SHOWN ? "..." : "", text, p->at - p->text + 1);
    return error_show(p->err, p->text, (size_t)(p->at - p->text));
}

bool scan_number(const char **at, const char *what, int most, int *out, struct error *err)
{
    size_t digits = strspn(*at, "0123456789");
    int64_t value = 0;
    if (digits == 0)
        return fail(err, ERROR_INPUT, "expected %s", what);
    for (size_t i = 0; i < digits && value <= most; i++)
        value = value * 10 + ((*at)[i] - '0');
    if (value < 1 || value > most)
        return fail(err, ERROR_INPUT, "%s is %.*s, 1 to %d is right", what,
                    digits < 20 ? (int)digits : 20, *at, most);
    *out = (int)value;
    *at += digits;
    return true;
}

bool scan_nodes(const char **at, int *least, int *most, struct error *err)
{
    const char *start = *at;
    if (!scan_number(at, "the number of nodes", CLUSTER_MAX_NODES, least, err))
        return false;
    *most = *least;
    if (strncmp(*at, "..", 2) != 0)
        return true;
    *at += 2;
    if (!scan_number(at, "the largest number of nodes", CLUSTER_MAX_NODES, most, err))
        return false;
    if (*most < *least) {
        *at = start;
        return fail(err, ERROR_INPUT, "the range %d..%d ends before it begins", *least, *most);
    }
    return true;
}

static void skip_blanks(struct pool *p)
{
    p->at += strspn(p->at, " \t");
}

static bool read_nodes(struct pool *p, int *least, int *most)
{
    struct error cause;
    if (!scan_nodes(&p->at, least, most, &cause))
        return wrong(p, "%s", cause.text);
    if (*p->at == ':')
        return wrong(p, "the number of nodes is missing, write NODESxGPUS:TYPE as in 1x8:H100");
    if (*p->at != 'x' && *p->at != 'X')
        return wrong(p, "expected x after the number of nodes");
    p->at++;
    return true;
}

static bool read_per_node(struct pool *p, int *per_node)
{
    struct error cause;
    if (!scan_number(&p->at, "the number of GPUs per node", GROUP_MAX_PER_NODE, per_node, &cause))
        return wrong(p, "%s", cause.text);
    if (*p->at != ':')
        return wrong(p, "expected : after the number of GPUs per node");
    p->at++;
    return true;
}

/* A word up to the end of the group, cut at the buffer's size: no known word is as long. */
static void read_word(const struct pool *p, char *word, size_t size)
{
    size_t length = strcspn(p->at, " \t,@");
    if (length >= size)
        length = size - 1;
    memcpy(word, p->at, length);
    word[length] = 0;
}

static const struct gpu *read_type(struct pool *p)
{
    struct error cause;
    char name[64];
    read_word(p, name, sizeof name);
    if (!*name) {
        wrong(p, "expected a GPU type");
        return NULL;
    }
    const struct gpu *g = gpu_find(name, &cause);
    if (!g)
        wrong(p, "%s", cause.text);
    else
        p->at += strlen(name);
    return g;
}

static bool read_nic(struct pool *p, struct node_group *group)
{
    char number[64];
    double gbit;
    if (*p->at != '@')
        return true;
    p->at++;
    read_word(p, number, sizeof number);
    if (!parse_real(number, &gbit) || gbit < NIC_GBIT_MIN || gbit > NIC_GBIT_MAX)
        return wrong(p, "the NIC speed is '%s', Gbit/s per GPU from %g to %.0f is right", number,
                     NIC_GBIT_MIN, NIC_GBIT_MAX);
    p->at += strlen(number);
    group_set_nic(group, gbit);
    return true;
}

static bool read_group(struct pool *p, struct node_group *group)
{
    int least, most, per_node;
    skip_blanks(p);
    if (!read_nodes(p, &least, &most) || !read_per_node(p, &per_node))
        return false;
    const struct gpu *g = read_type(p);
    if (!g)
        return false;
    group_init(group, g, per_node);
    group->nodes_min = least;
    group->nodes_max = most;
    if (!read_nic(p, group))
        return false;
    skip_blanks(p);
    return !*p->at || *p->at == ',' || wrong(p, "expected a comma or the end of the pool");
}

bool cluster_from_pool(struct cluster *c, const char *text, struct error *err)
{
    struct pool p = {text, text, err};
    *c = (struct cluster){0};
    cluster_set_text(c, text);
    if (!text[strspn(text, " \t")])
        return fail(err, ERROR_INPUT, "pool '%.*s': empty, write NODESxGPUS:TYPE as in 64x8:H100",
                    SHOWN, text);
    for (;;) {
        if (c->groups == CLUSTER_MAX_GROUPS)
            return wrong(&p, "more than %d groups", CLUSTER_MAX_GROUPS);
        if (!read_group(&p, &c->group[c->groups]))
            return false;
        c->group[c->groups].index = c->groups;
        c->groups++;
        if (!*p.at)
            break;
        p.at++;
    }
    return true;
}
