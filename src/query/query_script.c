/* Which reading of a launch script counts. A script is read as it is called, with the arguments of the command line or
 * none. Where it takes arguments and none are given, the call that one of its comments or the README beside it shows
 * stands for them, if that answers everything. Where things are left to ask, it is read once more with all that is not set in doubt: then the
 * list names what decides them, not what follows. */
#include "query/query_read.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/overrides.h"
#include "query/query.h"

#include <string.h>

enum { LONG = 1 << 20 }; /* bytes of a script that is read but once */

struct script_as_read {
    struct launch launch;
    bool read;
    struct error error; /* why it could not be */
};

bool imported_follows(const struct options *o, const char *path)
{
    return strcmp(path, "-") != 0 && !o->at_hand;
}

/* GPUs of a node: of the cluster, where all of its nodes are alike, or as the type has them. */
static const char *node_gpus(const struct options *o)
{
    const struct cluster *c = &o->cluster;
    for (int i = 1; o->has_cluster && i < c->groups; i++)
        if (c->group[i].per_node != c->group[0].per_node)
            return NULL;
    int n = o->has_cluster ? c->group[0].per_node : o->gpu ? o->gpu->per_node : 0;
    return n ? arena_format(o->mem, "%d", n) : NULL;
}

static void read_with(const struct options *o, const struct text *t, const char *path,
                      const struct script_env *given, int envs, int how, struct script_as_read *r)
{
    const char *gpus = node_gpus(o);
    struct script_env *env = arena_array(o->mem, (size_t)envs + 1, sizeof *env);
    if (envs)
        memcpy(env, given, (size_t)envs * sizeof *env);
    if (gpus)
        env[envs++] = (struct script_env){SCRIPT_NODE_GPUS, gpus, true};
    int follows = imported_follows(o, path) ? SCRIPT_FOLLOWS : 0;
    r->read = script_read(path, t->data, t->length, env, envs, how | follows, &r->launch, o->mem,
                          &r->error) &&
              overrides_of_launch(&r->launch, o->mem, &r->error);
}

/* Whether nothing is left to ask; what is refused for another reason needs no questions either. */
static bool is_complete(struct options *o, const struct script_as_read *r)
{
    const char *note;
    const struct imported *before = o->imported;
    struct imported *i = arena_alloc(o->mem, sizeof *i);
    if (!r->read)
        return false;
    if (r->launch.program && foreign_program(r->launch.program, &note))
        return true;
    i->launch = r->launch;
    launch_split(&i->launch, &i->flags, o->mem);
    if (i->flags.refused)
        return true;
    o->imported = i;
    bool complete = options_flags(o, 0, NULL, &i->trouble) ? imported_asks(o) == 0 : true;
    o->imported = before;
    return complete;
}

static bool has_arguments(const struct options *o)
{
    for (int i = 0; i < o->envs; i++)
        if (strspn(o->env[i].name, "0123456789") == strlen(o->env[i].name))
            return true;
    return false;
}

static const char README[] = "README.md";

/* README.md in the script's folder; false where there is none. */
static bool read_beside(const struct options *o, const char *path, struct text *out)
{
    struct error ignored;
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    const char *folder = n ? arena_copy(o->mem, path, n) : "./";
    const char *name = arena_format(o->mem, "%s%s", folder, README);
    return imported_follows(o, path) && file_lies_in(folder, name) &&
           file_read(name, o->mem, out, &ignored);
}

/* The call that a comment shows; where things are left to ask, also that of the README beside the script. */
static bool find_call(const struct options *o, const struct text *t, const char *path,
                      int arguments, bool complete, struct script_call *c, const char **why)
{
    struct text readme;
    if (script_call(path, t->data, t->length, arguments, c, o->mem)) {
        *why = arena_format(o->mem, "the comment in line %d calls it so", c->line);
        return true;
    }
    if (complete || !read_beside(o, path, &readme) ||
        !script_call_elsewhere(path, readme.data, readme.length, arguments, c, o->mem))
        return false;
    *why = arena_format(o->mem, "line %d of %s beside it calls it so", c->line, README);
    return true;
}

/* As the call in a comment or README has it; false where there is none, or it leaves things to ask. */
static bool read_as_called(struct options *o, const struct text *t, const char *path, int arguments,
                           bool complete, struct script_as_read *r, const char **call,
                           const char **why)
{
    struct script_call c;
    struct str words = {0};
    if (has_arguments(o) || !find_call(o, t, path, arguments, complete, &c, why) ||
        o->envs + c.count > ENVS_MAX)
        return false;
    struct script_env *env = arena_array(o->mem, ENVS_MAX, sizeof *env);
    memcpy(env, o->env, (size_t)o->envs * sizeof *env);
    for (int i = 0; i < c.count; i++) {
        env[o->envs + i] =
            (struct script_env){.name = arena_format(o->mem, "%d", i + 1), .value = c.word[i]};
        str_addf(&words, "%s%s", i ? " " : "", c.word[i]);
    }
    read_with(o, t, path, env, o->envs + c.count, 0, r);
    *call = str_keep(&words, o->mem);
    return is_complete(o, r);
}

bool imported_script(struct options *o, const struct text *t, const char *path, struct launch *out,
                     const char **call, const char **why, struct error *err)
{
    struct script_as_read plain = {0}, other = {0};
    read_with(o, t, path, o->env, o->envs, 0, &plain);
    bool complete = is_complete(o, &plain);
    bool again = (plain.read || plain.launch.arguments > 0) && t->length < LONG;
    if (again && plain.launch.arguments > 0 &&
        read_as_called(o, t, path, plain.launch.arguments, complete, &other, call, why)) {
        *out = other.launch;
        return true;
    }
    *call = NULL;
    if (!complete && again) {
        read_with(o, t, path, o->env, o->envs,
                  plain.launch.arguments > 0 ? SCRIPT_CURIOUS : SCRIPT_DOUBTS, &other);
        if (other.read && !is_complete(o, &other))
            plain = other;
    }
    *out = plain.launch;
    if (!plain.read && err)
        *err = plain.error;
    return plain.read;
}
