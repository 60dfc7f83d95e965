/* Options of verify, each checked when it comes. */
#include "base/units.h"
#include "query/query_parts.h"

#include <string.h>

#define LONGEST_S (7 * 86400.0)

static bool take_path(struct query *q, const char *option, const char *v, const char *what,
                      const char **out, struct error *err)
{
    *out = arena_string(&q->mem, v);
    return *v || fail(err, ERROR_INPUT, "--%s is empty, expected %s", option, what);
}

bool set_megatron(struct query *q, const char *v, struct error *err)
{
    return take_path(q, "megatron", v, "a checkout of Megatron-LM", &q->verify.megatron, err);
}

bool set_python(struct query *q, const char *v, struct error *err)
{
    return take_path(q, "python", v, "an interpreter", &q->verify.python, err);
}

/* Whether the plan has stages of these numbers is seen when there is one. */
bool set_stages(struct query *q, const char *v, struct error *err)
{
    bool list = *v && strspn(v, "0123456789,") == strlen(v);
    q->verify.stages = arena_string(&q->mem, v);
    return list || strcmp(v, "distinct") == 0 || strcmp(v, "all") == 0 ||
           fail(err, ERROR_INPUT, "--stages is '%s', expected distinct, all, or a list such as 0,3",
                v);
}

bool set_dry_run(struct query *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->verify.dry_run = true;
    return true;
}

bool set_timeout(struct query *q, const char *v, struct error *err)
{
    return (parse_duration(v, &q->verify.limit_s) && q->verify.limit_s >= 1 &&
            q->verify.limit_s <= LONGEST_S) ||
           fail(err, ERROR_INPUT, "--timeout is '%s', expected a duration from 1s to 7d, as in 10m",
                v);
}
