/* Arguments become options in the order that a command line has: options, what would be a file,
 * flags. The library judges values, as it does there. */
#include "mcp/mcp_answer.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* What is read of the arguments, until something is wrong. */
struct putting {
    const struct mcp_question *question;
    struct astra *query;
    struct str *message; /* "" = all is right so far */
    const struct json *answer, *script, *file, *flags;
};

static bool is_right(const struct putting *p)
{
    return p->message->length == 0;
}

static void put_option(struct putting *p, const char *name, const char *value)
{
    if (is_right(p) && astra_set(p->query, name, value) != ASTRA_OK)
        str_add(p->message, astra_message(p->query));
}

/* A value as a command line has it. False: it has none of this type. */
static bool value_text(const struct json *v, struct str *out)
{
    if (json_is_string(v))
        str_add(out, json_text(v));
    else if (json_is_integer(v))
        str_addf(out, "%lld", (long long)json_integer_of(v));
    else if (json_is_number(v))
        str_addf(out, "%.15g", json_number_of(v));
    else
        return false;
    return true;
}

static bool takes_object(const struct astra_option *o)
{
    return o->takes == ASTRA_TAKES_MODEL || o->takes == ASTRA_TAKES_POOL;
}

static void put_value(struct putting *p, const struct astra_option *o, const struct json *v)
{
    struct str text = {0};
    if (json_is_object(v) && takes_object(o))
        json_dump_line(v, &text);
    else if (!value_text(v, &text))
        str_addf(p->message, "%s has a value of another type than its schema says: expected %s",
                 o->name, *o->argument ? o->argument : "true or false");
    put_option(p, o->name, str_text(&text));
    str_release(&text);
}

static void put_switch(struct putting *p, const struct astra_option *o, const struct json *v)
{
    if (!json_is_bool(v))
        str_addf(p->message, "%s is true or false", o->name);
    else if (json_bool_of(v))
        put_option(p, o->name, "on");
}

static void put_values(struct putting *p, const struct astra_option *o, const struct json *v)
{
    if (!*o->argument)
        put_switch(p, o, v);
    else if (json_is_array(v) && o->repeats)
        for (size_t i = 0; i < json_count(v) && is_right(p); i++)
            put_value(p, o, json_at(v, i));
    else
        put_value(p, o, v);
}

static void refuse(struct putting *p, const char *name, enum argument_kind kind)
{
    const struct mcp_question *q = p->question;
    const char *near = argument_nearest(q->tool, name, q->terms);
    if (kind == ARGUMENT_WRITES)
        str_addf(p->message, "%s is refused: it writes a file, and this server writes none", name);
    else if (kind == ARGUMENT_READS)
        str_addf(
            p->message,
            "%s is refused: it reads a file, and this server was started without --allow FOLDER",
            name);
    else
        str_addf(p->message, "%s has no argument '%.80s'%s%s%s", q->tool->name, name,
                 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* What is null was not given. */
static void put_member(void *context, const char *name, const struct json *value)
{
    struct putting *p = context;
    const struct astra_option *o;
    if (!is_right(p) || json_is_null(value))
        return;
    enum argument_kind kind = argument_find(p->question->tool, name, p->question->terms, &o);
    if (kind == ARGUMENT_OPTION)
        put_values(p, o, value);
    else if (kind == ARGUMENT_ANSWER)
        p->answer = value;
    else if (kind == ARGUMENT_SCRIPT)
        p->script = value;
    else if (kind == ARGUMENT_FILE)
        p->file = value;
    else if (kind == ARGUMENT_FLAGS)
        p->flags = value;
    else
        refuse(p, name, kind);
}

static void put_text(struct putting *p, const char *name, const char *text)
{
    if (astra_load_text(p->query, name, text) != ASTRA_OK)
        str_add(p->message, astra_message(p->query));
}

static void put_answer(struct putting *p)
{
    struct str text = {0};
    json_dump_line(p->answer, &text);
    put_text(p, "answer", str_text(&text));
    str_release(&text);
}

/* One of three stands for the file. */
static void put_file(struct putting *p)
{
    int given = (p->answer != NULL) + (p->script != NULL) + (p->file != NULL);
    if (!is_right(p) || given == 0)
        return;
    if (given > 1)
        str_add(p->message, "of answer, script and file one is given, not several");
    else if (p->answer && !json_is_object(p->answer))
        str_add(p->message, "answer is an object: what search or estimate gave");
    else if (!p->answer && !json_is_string(p->script ? p->script : p->file))
        str_addf(p->message, "%s is a text", p->script ? "script" : "file");
    else if (p->answer)
        put_answer(p);
    else if (p->script)
        put_text(p, "script", json_text(p->script));
    else if (astra_load_plan(p->query, json_text(p->file)) != ASTRA_OK)
        str_add(p->message, astra_message(p->query));
}

static void put_flags(struct putting *p)
{
    struct arena mem = {0};
    size_t count = json_is_array(p->flags) ? json_count(p->flags) : 0;
    if (!is_right(p) || !p->flags)
        return;
    const char **words = arena_array(&mem, count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++)
        if (json_is_string(json_at(p->flags, i)))
            words[i] = json_text(json_at(p->flags, i));
        else
            count = 0;
    if (count == 0)
        str_add(p->message,
                "flags is a list of words, as [\"--bf16\", \"--micro-batch-size\", \"1\"]");
    else if (astra_flags(p->query, count, words) != ASTRA_OK)
        str_add(p->message, astra_message(p->query));
    arena_release(&mem);
}

static const double SEARCHED = 0.8; /* of a call's time; the rest is for what comes after */

/* A search that would outlast the call ends with the best so far, unless its limit is given. */
static void put_limit(struct putting *p)
{
    const struct mcp_question *q = p->question;
    const struct astra_option *o;
    char limit[32];
    if (json_get(q->arguments, "time-limit") || q->terms->call_s <= 0 ||
        argument_find(q->tool, "time-limit", q->terms, &o) != ARGUMENT_OPTION)
        return;
    snprintf(limit, sizeof limit, "%.3fs", SEARCHED * q->terms->call_s);
    put_option(p, o->name, limit);
}

bool question_put(const struct mcp_question *q, struct astra *query, struct str *message)
{
    struct putting p = {.question = q, .query = query, .message = message};
    put_limit(&p);
    json_each(q->arguments, put_member, &p);
    put_file(&p);
    put_flags(&p);
    return is_right(&p);
}

static void add_content(struct json *list, const char *text)
{
    struct json *item = json_new_object();
    json_set(item, "type", json_new_string("text"));
    json_set(item, "text", json_new_string(text));
    json_append(list, item);
}

void result_failed(const char *message, struct str *out)
{
    struct json *v = json_new_object(), *content = json_new_array();
    add_content(content, message);
    json_set(v, "content", content);
    json_set(v, "isError", json_new_bool(true));
    json_dump_line(v, out);
    json_release(v);
}

/* The answer as JSON, and the script where there is one. */
static struct json *structured(struct astra *a, const struct mcp_tool *t)
{
    const char *text = t->gives == GIVES_JSON ? astra_print(a, ASTRA_JSON) : "{}";
    struct json *v = json_parse(text, strlen(text), "answer", NULL);
    if (v && *astra_script(a))
        json_set(v, "script", json_new_string(astra_script(a)));
    return v;
}

/* Before there were structured answers they are a text of their own. */
static void add_structured(struct json *result, struct json *content, struct json *answer,
                           enum mcp_revision revision)
{
    struct str text = {0};
    if (revision >= REVISION_2025_06_18) {
        json_set(result, "structuredContent", answer);
        return;
    }
    json_dump_line(answer, &text);
    add_content(content, str_text(&text));
    str_release(&text);
    json_release(answer);
}

/* An answer that a plan does not fit, or that no better one is found, is one. */
static void add_result(const struct mcp_question *q, struct astra *a, enum astra_status status,
                       struct str *out)
{
    struct json *v = json_new_object(), *content = json_new_array();
    const char *script = astra_script(a), *text = astra_print(a, ASTRA_TEXT);
    add_content(content, text);
    if (status != ASTRA_OK)
        add_content(content, astra_message(a));
    else if (*script && strcmp(script, text) != 0)
        add_content(content, script);
    json_set(v, "content", content);
    struct json *answer = structured(a, q->tool);
    if (answer)
        add_structured(v, content, answer, q->revision);
    json_dump_line(v, out);
    json_release(v);
}

static void ask(const struct mcp_question *q, struct astra *a, struct str *out)
{
    enum astra_status status = q->tool->ask(a);
    if (status == ASTRA_OK || (status == ASTRA_NONE && *astra_print(a, ASTRA_TEXT)))
        add_result(q, a, status, out);
    else
        result_failed(astra_message(a), out);
}

void question_answer(const struct mcp_question *q, struct str *out)
{
    struct astra *a = astra_new();
    struct str message = {0};
    astra_on_progress(a, q->progress, q->progress_context);
    if (question_put(q, a, &message))
        ask(q, a, out);
    else
        result_failed(str_text(&message), out);
    str_release(&message);
    astra_free(a);
}
