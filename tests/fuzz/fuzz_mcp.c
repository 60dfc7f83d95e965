/* Lines of a client of the Model Context Protocol: whatever comes, in whatever order, each answer is
 * one line of JSON, and arguments of calls are taken or refused with a message. A first byte below 8
 * stands for the revision that was agreed. */
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const NO_FOLDER[] = {NULL};

static void check_line(const char *line, size_t length)
{
    struct json *v = json_parse(line, length, "answer", NULL);
    const struct json *m = json_is_array(v) ? json_at(v, 0) : v;
    if (strcmp(json_text(json_get(m, "jsonrpc")), "2.0") != 0 ||
        !json_get(m, "result") == !json_get(m, "error"))
        abort();
    json_release(v);
}

static void check_out(struct mcp_session *s)
{
    const char *at = str_text(&s->out);
    for (const char *end; (end = strchr(at, '\n')); at = end + 1)
        check_line(at, (size_t)(end - at));
    if (*at)
        abort();
    str_clear(&s->out);
}

/* The arguments alone are read: nothing is asked, which would take its time. */
static void answer(struct mcp_session *s, struct mcp_call *c)
{
    struct json *arguments = json_parse(c->arguments, strlen(c->arguments), "arguments", NULL);
    const struct mcp_question q = {
        .tool = c->tool, .arguments = arguments, .terms = s->terms, .revision = s->revision};
    struct str text = {0};
    struct astra *a = astra_new();
    if (!arguments)
        abort();
    if (question_put(&q, a, &text))
        str_add(&text, "{}");
    else if (text.length == 0)
        abort();
    else
        result_failed("no", (str_clear(&text), &text));
    session_answer(s, c, str_text(&text));
    astra_free(a);
    str_release(&text);
    json_release(arguments);
}

static void forget_cancelled(struct mcp_session *s)
{
    for (struct mcp_call *c = s->calls, *next; c; c = next) {
        next = c->next;
        if (c->state == CALL_CANCELLED)
            session_forget(s, c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mcp_terms terms = {.allow = NO_FOLDER, .call_s = 1, .message_bytes = 1 << 20};
    struct mcp_session s;
    const char *at = (const char *)data, *end = at + size;
    files_confine(NO_FOLDER);
    session_init(&s, &terms);
    if (size > 0 && *data < 8)
        s.revision = (enum mcp_revision)(*at++ % REVISION_COUNT);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        session_take(&s, at, (size_t)(stop - at));
        forget_cancelled(&s);
        if (s.count > 4)
            answer(&s, s.calls->next);
        check_out(&s);
        at = stop + 1;
    }
    while (s.calls)
        answer(&s, s.calls);
    check_out(&s);
    session_release(&s);
    return 0;
}
