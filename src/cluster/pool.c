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

enum { NAME_MOST = 64 };
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
        return fail(err, ERROR_INPUT, "%s is %.*s, expected 1 to %d", what,
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

/* "32 of them": so many GPUs of a type whose nodes have as many as usual; 0 where they fill no nodes. */
static int nodes_for(const struct gpu *g, int count, int *per_node)
{
    *per_node = count < g->per_node ? count : g->per_node;
    return count % *per_node ? 0 : count / *per_node;
}

/* Other tools' ways to say so many GPUs of a type: 8xH100, 8:H100, H100:8, H100 (0 of them). */
static bool foreign_form(const char *text, size_t length, int *count, char type[NAME_MOST])
{
    static const char digits[] = "0123456789", between[] = "x*: ";
    size_t lead = strspn(text, digits), tail = length, from = 0, to = length;
    const char *number = NULL;
    struct error ignored;
    while (tail > 0 && strchr(digits, text[tail - 1]))
        tail--;
    if (lead > 0 && lead < length && strchr(between, text[lead])) {
        number = text;
        from = lead + 1;
    } else if (tail > 1 && tail < length && strchr(between, text[tail - 1])) {
        number = text + tail;
        to = tail - 1;
    }
    *count = 0;
    if (from >= to || to - from >= NAME_MOST)
        return false;
    memcpy(type, text + from, to - from);
    type[to - from] = 0;
    return !number || scan_number(&number, "", CLUSTER_MAX_NODES, count, &ignored);
}

/* Says how the group is written where it is one of those forms; or what is wrong with it. */
static bool wrong_form(struct pool *p, const char *group, const char *cause)
{
    char type[NAME_MOST];
    int count, per_node;
    size_t length = strcspn(group, ",@");
    while (length > 0 && strchr(" \t", group[length - 1]))
        length--;
    const struct gpu *g = foreign_form(group, length, &count, type) ? gpu_find(type, NULL) : NULL;
    int nodes = g ? nodes_for(g, count > 0 ? count : g->per_node, &per_node) : 0;
    if (nodes == 0)
        return wrong(p, "%s%s", cause,
                     strncmp(cause, "expected", 8) == 0 ? ", as in 64x8:H100" : "");
    p->at = group;
    return wrong(p, "the form is NODESxGPUS:TYPE, write %dx%d:%s", nodes, per_node, type);
}

static bool read_nodes(struct pool *p, int *least, int *most)
{
    struct error cause;
    const char *group = p->at;
    if (!scan_nodes(&p->at, least, most, &cause))
        return wrong_form(p, group, cause.text);
    if (*p->at != 'x' && *p->at != 'X')
        return wrong_form(p, group, "expected x after the number of nodes");
    p->at++;
    return true;
}

static bool read_per_node(struct pool *p, const char *group, int *per_node)
{
    struct error cause;
    if (!scan_number(&p->at, "the number of GPUs per node", GROUP_MAX_PER_NODE, per_node, &cause))
        return wrong_form(p, group, cause.text);
    if (*p->at != ':')
        return wrong_form(p, group, "expected : after the number of GPUs per node");
    p->at++;
    return true;
}

/* A word up to the end of the group, cut at the buffer's size: no known word is as long. */
static void read_word(const struct pool *p, char *word, size_t size)
{
    size_t length = strcspn(p->at, " \t,@+");
    if (length >= size)
        length = size - 1;
    memcpy(word, p->at, length);
    word[length] = 0;
}

/* "RTX 4090" is RTX-4090. */
static void join_words(const struct pool *p, char name[NAME_MOST])
{
    size_t length = strcspn(p->at, ",@");
    while (length > 0 && strchr(" \t", p->at[length - 1]))
        length--;
    char joined[NAME_MOST] = "";
    for (size_t i = 0; i < length && i < sizeof joined - 1; i++)
        joined[i] = strchr(" \t", p->at[i]) ? '-' : p->at[i];
    if (length < sizeof joined && gpu_find(joined, NULL))
        memcpy(name, joined, sizeof joined);
}

static const struct gpu *read_type(struct pool *p)
{
    struct error cause;
    char name[NAME_MOST];
    skip_blanks(p);
    read_word(p, name, sizeof name);
    join_words(p, name);
    if (!*name) {
        wrong(p, "expected a GPU type");
        return NULL;
    }
    const struct gpu *g = gpu_find(name, &cause);
    if (!g)
        wrong(p, "%s; how to describe one of your own: astra help gpu", cause.text);
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
    const char *group_text = p->at;
    if (!read_nodes(p, &least, &most) || !read_per_node(p, group_text, &per_node))
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
