/* The protocol: JSON-RPC 2.0, one message a line, revisions as the client asks for them
 * (modelcontextprotocol.io/specification). Answers are put together as text: ids and results are
 * JSON already. */
#include "mcp/mcp_session.h"

#include "base/arena.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const REVISIONS[REVISION_COUNT] = {
    [REVISION_NONE] = "",
    [REVISION_2024_11_05] = "2024-11-05",
    [REVISION_2025_03_26] = "2025-03-26",
    [REVISION_2025_06_18] = "2025-06-18",
    [REVISION_2025_11_25] = "2025-11-25",
};

static const char INSTRUCTIONS[] =
    "Astra plans the training of large models with Megatron-LM: which GPUs, how many, and how to "
    "split "
    "the model over them. Predictions come with an expected error. search finds plans, estimate "
    "predicts one or a launch script, explain says why, improve rewrites a script, export writes "
    "one.";

struct mcp_batch {
    int open; /* messages that are still to be answered */
    struct str text;
};

/* Whom an answer is for. */
struct addressee {
    const char *id; /* JSON; "null" = nobody knows */
    struct mcp_batch *batch;
};

struct mcp_request {
    struct addressee from;
    const struct json *params; /* an object, or NULL */
};

static char *copied(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(memory_grow(NULL, n), text, n);
}

static char *dumped(const struct json *v)
{
    struct str s = {0};
    json_dump_line(v, &s);
    char *text = copied(str_text(&s));
    str_release(&s);
    return text;
}

static void send(struct mcp_session *s, struct mcp_batch *batch, const char *message)
{
    if (!batch)
        str_addf(&s->out, "%s\n", message);
    else
        str_addf(&batch->text, "%s%s", batch->text.length > 0 ? "," : "[", message);
}

static void reply(struct mcp_session *s, struct addressee to, const char *result)
{
    struct str m = {0};
    str_addf(&m, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", to.id);
    str_add(&m, result);
    str_add(&m, "}");
    send(s, to.batch, str_text(&m));
    str_release(&m);
}

static void reply_json(struct mcp_session *s, struct addressee to, struct json *result)
{
    char *text = dumped(result);
    reply(s, to, text);
    free(text);
    json_release(result);
}

__attribute__((format(printf, 4, 5))) static void
refuse(struct mcp_session *s, struct addressee to, enum mcp_code code, const char *format, ...)
{
    struct json *error = json_new_object();
    struct str m = {0};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_set(error, "code", json_new_integer(code));
    json_set(error, "message", json_new_string(text));
    str_addf(&m, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":", to.id);
    json_dump_line(error, &m);
    str_add(&m, "}");
    send(s, to.batch, str_text(&m));
    str_release(&m);
    json_release(error);
}

/* One message of a batch less; with the last of them its answers go out, where there are any. */
static void batch_done(struct mcp_session *s, struct mcp_batch *b)
{
    if (!b || --b->open > 0)
        return;
    if (b->text.length > 0)
        str_addf(&s->out, "%s]\n", str_text(&b->text));
    str_release(&b->text);
    free(b);
}

/* The revision that was asked for, or the newest that is known here: a client that does not know it
 * goes away. */
static enum mcp_revision agreed(const char *wanted)
{
    for (int r = REVISION_NONE + 1; r < REVISION_COUNT; r++)
        if (strcmp(REVISIONS[r], wanted) == 0)
            return (enum mcp_revision)r;
    return REVISION_COUNT - 1;
}

static void answer_initialize(struct mcp_session *s, const struct mcp_request *r)
{
    const struct json *wanted = json_get(r->params, "protocolVersion");
    if (s->revision != REVISION_NONE || r->from.batch) {
        refuse(s, r->from, CODE_REQUEST, "initialize comes once, first and alone");
        return;
    }
    if (!json_is_string(wanted)) {
        refuse(s, r->from, CODE_PARAMS, "params.protocolVersion is missing, as in \"%s\"",
               REVISIONS[REVISION_COUNT - 1]);
        return;
    }
    s->revision = agreed(json_text(wanted));
    struct json *v = json_new_object(), *can = json_new_object(), *name = json_new_object();
    json_set(v, "protocolVersion", json_new_string(REVISIONS[s->revision]));
    json_set(can, "tools", json_new_object());
    json_set(v, "capabilities", can);
    json_set(name, "name", json_new_string("astra"));
    if (s->revision >= REVISION_2025_06_18)
        json_set(name, "title", json_new_string("Astra"));
    json_set(name, "version", json_new_string(astra_version()));
    json_set(v, "serverInfo", name);
    json_set(v, "instructions", json_new_string(INSTRUCTIONS));
    reply_json(s, r->from, v);
}

static void answer_ping(struct mcp_session *s, const struct mcp_request *r)
{
    reply(s, r->from, "{}");
}

static void answer_list(struct mcp_session *s, const struct mcp_request *r)
{
    if (json_is_null(json_get(r->params, "cursor")))
        reply_json(s, r->from, tools_json(s->terms, s->revision));
    else
        refuse(s, r->from, CODE_PARAMS,
               "params.cursor is not one of this server: all tools are in "
               "one list");
}

static struct mcp_call *call_find(struct mcp_session *s, const char *id)
{
    for (struct mcp_call *c = s->calls; c; c = c->next)
        if (strcmp(c->id, id) == 0 && c->state != CALL_CANCELLED)
            return c;
    return NULL;
}

static void call_free(struct mcp_call *c)
{
    free(c->id);
    free(c->arguments);
    free(c->token);
    free(c);
}

static bool is_token(const struct json *v)
{
    return json_is_string(v) || json_is_integer(v);
}

static void call_add(struct mcp_session *s, const struct mcp_request *r,
                     const struct mcp_tool *tool)
{
    const struct json *arguments = json_get(r->params, "arguments");
    const struct json *token = json_get(json_get(r->params, "_meta"), "progressToken");
    struct mcp_call *c = memory_grow(NULL, sizeof *c), **end = &s->calls;
    *c = (struct mcp_call){.state = CALL_WAITS,
                           .tool = tool,
                           .id = copied(r->from.id),
                           .arguments = arguments ? dumped(arguments) : copied("{}"),
                           .token = is_token(token) ? dumped(token) : NULL,
                           .batch = r->from.batch};
    if (c->batch)
        c->batch->open++;
    while (*end)
        end = &(*end)->next;
    *end = c;
    s->count++;
}

static void answer_call(struct mcp_session *s, const struct mcp_request *r)
{
    const struct json *name = json_get(r->params, "name");
    const struct json *arguments = json_get(r->params, "arguments");
    const struct mcp_tool *tool = json_is_string(name) ? tool_find(json_text(name)) : NULL;
    if (!json_is_string(name))
        refuse(s, r->from, CODE_PARAMS, "params.name is missing: the name of a tool");
    else if (!tool)
        refuse(s, r->from, CODE_PARAMS, "unknown tool: %.80s", json_text(name));
    else if (arguments && !json_is_object(arguments))
        refuse(s, r->from, CODE_PARAMS, "params.arguments is no object");
    else if (call_find(s, r->from.id))
        refuse(s, r->from, CODE_REQUEST, "a call with the same id is not answered yet");
    else if (s->count >= CALLS_MAX)
        refuse(s, r->from, CODE_BUSY, "%d calls are waiting already: ask again later", CALLS_MAX);
    else
        call_add(s, r, tool);
}

static const struct {
    const char *name;
    bool early; /* before anything is agreed */
    void (*answer)(struct mcp_session *, const struct mcp_request *);
} METHODS[] = {
    {"initialize", true, answer_initialize},
    {"ping", true, answer_ping},
    {"tools/list", false, answer_list},
    {"tools/call", false, answer_call},
};

static void take_request(struct mcp_session *s, const struct mcp_request *r, const char *method)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (strcmp(METHODS[i].name, method) != 0)
            continue;
        if (s->revision == REVISION_NONE && !METHODS[i].early)
            refuse(s, r->from, CODE_REQUEST, "initialize comes before %s", method);
        else
            METHODS[i].answer(s, r);
        return;
    }
    refuse(s, r->from, CODE_METHOD, "no method is called %.80s", method);
}

/* One that is answered already, or unknown, is no fault: the two messages have crossed. */
static void take_notification(struct mcp_session *s, const char *method, const struct json *params)
{
    const struct json *wanted = json_get(params, "requestId");
    if (strcmp(method, "notifications/cancelled") != 0 || !is_token(wanted))
        return;
    char *id = dumped(wanted);
    struct mcp_call *c = call_find(s, id);
    if (c)
        c->state = CALL_CANCELLED;
    free(id);
}

/* Answers to what was never asked. */
static bool is_response(const struct json *m)
{
    return !json_get(m, "method") && (json_get(m, "result") || json_get(m, "error"));
}

static const char *fault_of(const struct json *m)
{
    const struct json *id = json_get(m, "id"), *version = json_get(m, "jsonrpc");
    if (!json_is_object(m))
        return "a message is an object";
    if (strcmp(json_text(version), "2.0") != 0)
        return "jsonrpc is not \"2.0\"";
    if (id && !is_token(id))
        return "id is neither a text nor a whole number";
    if (!is_response(m) && !json_is_string(json_get(m, "method")))
        return "method is missing";
    return NULL;
}

static void take_message(struct mcp_session *s, const struct json *m, struct mcp_batch *batch)
{
    const struct json *id = json_get(m, "id"), *params = json_get(m, "params");
    const char *fault = fault_of(m), *method = json_text(json_get(m, "method"));
    char *text = is_token(id) ? dumped(id) : NULL;
    struct mcp_request r = {{text ? text : "null", batch}, params};
    if (fault)
        refuse(s, r.from, CODE_REQUEST, "%s", fault);
    else if (is_response(m))
        ;
    else if (!id)
        take_notification(s, method, params);
    else if (params && !json_is_object(params))
        refuse(s, r.from, CODE_PARAMS, "params is no object");
    else
        take_request(s, &r, method);
    free(text);
}

static void take_batch(struct mcp_session *s, const struct json *list)
{
    const struct addressee nobody = {"null", NULL};
    size_t count = json_count(list);
    if (s->revision != REVISION_2025_03_26) {
        refuse(s, nobody, CODE_REQUEST, "this revision of the protocol has no batches");
        return;
    }
    if (count == 0 || count > BATCH_MAX) {
        refuse(s, nobody, CODE_REQUEST, "a batch of %zu messages: expected 1 to %d", count,
               BATCH_MAX);
        return;
    }
    struct mcp_batch *b = memory_grow(NULL, sizeof *b);
    *b = (struct mcp_batch){.open = 1};
    for (size_t i = 0; i < count; i++)
        take_message(s, json_at(list, i), b);
    batch_done(s, b);
}

/* Seen before the text is parsed, so that nothing is built of it. */
static int depth_of(const char *text, size_t length)
{
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted)
            i += c == '\\';
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!quoted && (c == ']' || c == '}'))
            depth--;
    }
    return deepest;
}

void session_take(struct mcp_session *s, const char *line, size_t length)
{
    const struct addressee nobody = {"null", NULL};
    struct error err = {0};
    if (depth_of(line, length) > MESSAGE_DEPTH) {
        refuse(s, nobody, CODE_PARSE, "nested deeper than %d", MESSAGE_DEPTH);
        return;
    }
    struct json *m = json_parse(line, length, "message", &err);
    if (!m)
        refuse(s, nobody, CODE_PARSE, "%s", err.text);
    else if (json_is_array(m))
        take_batch(s, m);
    else
        take_message(s, m, NULL);
    json_release(m);
}

void session_too_long(struct mcp_session *s)
{
    refuse(s, (struct addressee){"null", NULL}, CODE_REQUEST, "a message is longer than %zu bytes",
           s->terms->message_bytes);
}

void session_init(struct mcp_session *s, const struct mcp_terms *terms)
{
    *s = (struct mcp_session){.terms = terms};
}

void session_forget(struct mcp_session *s, struct mcp_call *c)
{
    struct mcp_call **at = &s->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    s->count--;
    batch_done(s, c->batch);
    call_free(c);
}

void session_answer(struct mcp_session *s, struct mcp_call *c, const char *result)
{
    reply(s, (struct addressee){c->id, c->batch}, result);
    session_forget(s, c);
}

void session_fail(struct mcp_session *s, struct mcp_call *c, enum mcp_code code,
                  const char *message)
{
    refuse(s, (struct addressee){c->id, c->batch}, code, "%s", message);
    session_forget(s, c);
}

void session_release(struct mcp_session *s)
{
    while (s->calls)
        session_forget(s, s->calls);
    str_release(&s->out);
}

void call_progress(const struct mcp_call *c, double done, struct str *out)
{
    str_addf(out,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
             "{\"progressToken\":%s,\"progress\":%.4f,\"total\":1}}",
             c->token, done);
}
