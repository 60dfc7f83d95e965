/* The Model Context Protocol without its pipes: what a line is answered with, which arguments tools
 * take, and which they refuse. */
#include "astra.h"

#include "base/json.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_session.h"
#include "query/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const NO_FOLDER[] = {NULL}, *const FOLDER[] = {"/", NULL};
static const struct mcp_terms CLOSED = {NO_FOLDER, 1, 1000}, OPEN = {FOLDER, 1, 1000};

#define INITIALIZE(revision)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" revision "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}"
#define CALL(id, tool)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":{}}}"
#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define ERROR(id, code, message)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message       \
    "\"}}\n"

static void begin(struct mcp_session *s, const char *initialize)
{
    session_init(s, &CLOSED);
    session_take(s, initialize, strlen(initialize));
    str_clear(&s->out);
}

static void takes(struct mcp_session *s, const char *line, const char *answer)
{
    session_take(s, line, strlen(line));
    assert_string_equal(str_text(&s->out), answer);
    str_clear(&s->out);
}

static void revisions_are_agreed(void **state)
{
    static const char *const PAIRS[][2] = {
        {INITIALIZE("2024-11-05"), "2024-11-05"}, {INITIALIZE("2025-03-26"), "2025-03-26"},
        {INITIALIZE("2025-06-18"), "2025-06-18"}, {INITIALIZE("2025-11-25"), "2025-11-25"},
        {INITIALIZE("2031-01-01"), "2025-11-25"}, {INITIALIZE(""), "2025-11-25"}};
    char want[64];
    (void)state;
    for (size_t i = 0; i < COUNT(PAIRS); i++) {
        struct mcp_session s;
        session_init(&s, &CLOSED);
        session_take(&s, PAIRS[i][0], strlen(PAIRS[i][0]));
        snprintf(want, sizeof want, "\"result\":{\"protocolVersion\":\"%s\"", PAIRS[i][1]);
        assert_non_null(strstr(str_text(&s.out), want));
        session_release(&s);
    }
}

static void wrong_messages_have_their_codes(void **state)
{
    static const char *const CASES[][2] = {
        {"{", ERROR("null", "-32700", "message:1:1: string or '}' expected near end of file")},
        {"1", ERROR("null", "-32700", "message:1:1: '[' or '{' expected near '1'")},
        {"{\"a\":1,\"a\":2}",
         ERROR("null", "-32700", "message:1:10: duplicate object key near '\\\"a\\\"'")},
        {"{}", ERROR("null", "-32600", "jsonrpc is not \\\"2.0\\\"")},
        {"{\"jsonrpc\":\"2.0\",\"id\":7}", ERROR("7", "-32600", "method is missing")},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
         ERROR("null", "-32600", "id is neither a text nor a whole number")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
         ERROR("null", "-32600", "id is neither a text nor a whole number")},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"resources/list\"}",
         ERROR("\"x\"", "-32601", "no method is called resources/list")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
         ERROR("1", "-32602", "params is no object")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
         ERROR("1", "-32602", "params.name is missing: the name of a tool")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"verify\"}}",
         ERROR("1", "-32602", "unknown tool: verify")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"gpus\","
         "\"arguments\":[]}}",
         ERROR("1", "-32602", "params.arguments is no object")},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
         ERROR("1", "-32602",
               "params.cursor is not one of this server: all tools are in one list")},
        {INITIALIZE("2025-06-18"), ERROR("0", "-32600", "initialize comes once, first and alone")},
        {"[" PING("1") "]",
         ERROR("null", "-32600", "this revision of the protocol has no batches")},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}", ""},
        {CANCEL("99"), ""},
        {PING("\"\\u00e9\""), PONG("\"\xc3\xa9\"") "\n"},
    };
    struct mcp_session s;
    (void)state;
    begin(&s, INITIALIZE("2025-06-18"));
    for (size_t i = 0; i < COUNT(CASES); i++)
        takes(&s, CASES[i][0], CASES[i][1]);
    session_release(&s);
}

static void nothing_but_pings_before_initialize(void **state)
{
    struct mcp_session s;
    (void)state;
    session_init(&s, &CLOSED);
    takes(&s, PING("1"), PONG("1") "\n");
    takes(&s, CALL("2", "gpus"), ERROR("2", "-32600", "initialize comes before tools/call"));
    takes(&s, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\"}",
          ERROR("3", "-32602", "params.protocolVersion is missing, as in \\\"2025-11-25\\\""));
    session_release(&s);
}

static void deep_messages_are_refused_unparsed(void **state)
{
    char deep[200], quoted[400];
    struct mcp_session s;
    (void)state;
    begin(&s, INITIALIZE("2025-06-18"));
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    takes(&s, deep, ERROR("null", "-32700", "nested deeper than 64"));
    snprintf(quoted, sizeof quoted,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\\\"%s\"}}",
             deep);
    takes(&s, quoted, PONG("1") "\n");
    session_too_long(&s);
    assert_string_equal(str_text(&s.out),
                        ERROR("null", "-32600", "a message is longer than 1000 bytes"));
    session_release(&s);
}

static void calls_wait_are_answered_and_cancelled(void **state)
{
    struct mcp_session s;
    (void)state;
    begin(&s, INITIALIZE("2025-06-18"));
    takes(&s, CALL("1", "gpus"), "");
    takes(&s, CALL("\"1\"", "models"), ""); /* another id */
    takes(&s, CALL("1", "models"),
          ERROR("1", "-32600", "a call with the same id is not answered yet"));
    takes(&s, CANCEL("1"), "");
    assert_true(s.count == 2 && s.calls->state == CALL_CANCELLED &&
                s.calls->next->state == CALL_WAITS);
    session_forget(&s, s.calls);
    session_answer(&s, s.calls, "{\"content\":[]}");
    assert_string_equal(str_text(&s.out),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"content\":[]}}\n");
    str_clear(&s.out);
    for (int i = 0; i < CALLS_MAX; i++) {
        char line[200];
        snprintf(line, sizeof line, CALL("%d", "gpus"), i);
        takes(&s, line, "");
    }
    takes(&s, CALL("100", "gpus"),
          ERROR("100", "-32000", "64 calls are waiting already: ask again later"));
    session_release(&s);
}

/* Answers of a batch go out together, once the last is there; cancelled ones are left out. */
static void batches_are_answered_whole(void **state)
{
    struct mcp_session s;
    (void)state;
    begin(&s, INITIALIZE("2025-03-26"));
    takes(&s, "[]", ERROR("null", "-32600", "a batch of 0 messages: expected 1 to 64"));
    takes(&s, "[" PING("1") ",3]",
          "[" PONG("1") ",{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                        "\"a message is an object\"}}]\n");
    takes(&s, "[" CANCEL("1") "]", "");
    takes(&s, "[" CALL("1", "gpus") "," PING("2") "," CALL("3", "gpus") "]", "");
    takes(&s, CANCEL("1"), "");
    session_forget(&s, s.calls);
    assert_int_equal(s.out.length, 0);
    session_answer(&s, s.calls, "{}");
    assert_string_equal(str_text(&s.out), "[" PONG("2") "," PONG("3") "]\n");
    str_clear(&s.out);
    takes(&s, "[" CALL("4", "gpus") "]", "");
    session_release(&s); /* with a batch still open */
}

/* Schemas are the tables: every option of a command is a property, or refused by name. */
static void schemas_have_every_option(void **state)
{
    const struct mcp_terms *const terms[] = {&CLOSED, &OPEN};
    (void)state;
    for (size_t k = 0; k < COUNT(terms); k++) {
        struct json *all = tools_json(terms[k], REVISION_2025_06_18);
        const struct json *list = json_get(all, "tools");
        for (size_t i = 0; i < json_count(list); i++) {
            const struct json *tool = json_at(list, i), *schema = json_get(tool, "inputSchema");
            const struct mcp_tool *t = tool_find(json_text(json_get(tool, "name")));
            const struct json *needed = json_get(schema, "required");
            assert_non_null(t);
            for (size_t n = 0; needed && n < json_count(needed); n++)
                assert_non_null(
                    json_get(json_get(schema, "properties"), json_text(json_at(needed, n))));
            for (const struct astra_option *o = astra_options(); o->name; o++) {
                const struct json *p = json_get(json_get(schema, "properties"), o->name);
                bool writes = o->takes == ASTRA_TAKES_NEW_FILE, reads = false;
                if (terms[k] == &CLOSED)
                    reads = o->takes == ASTRA_TAKES_FILE || o->takes == ASTRA_TAKES_FOLDER;
                bool taken = option_takes(option_find(o->name), t->name);
                assert_true((p != NULL) == (taken && !writes && !reads));
                assert_true(!p || *json_text(json_get(p, "description")));
            }
        }
        json_release(all);
    }
}

static void arguments_are_taken_or_refused(void **state)
{
    static const struct {
        const struct mcp_terms *terms;
        const char *tool, *arguments, *message; /* "" = taken */
    } CASES[] = {
        {&CLOSED, "search", "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\"}", ""},
        {&CLOSED, "search", "{\"top\":3,\"seq-len\":\"128k\",\"tokens\":1e12,\"stats\":true}", ""},
        {&CLOSED, "search", "{\"memory-margin\":0.05,\"set\":\"tp=2\",\"check\":null}", ""},
        {&CLOSED, "search", "{\"set\":[\"tp=2\",\"pp=4\"],\"exhaustive\":false}", ""},
        {&CLOSED, "search", "{\"top\":\"many\"}",
         "--top is 'many', expected a whole number from 1 to 10000"},
        {&CLOSED, "search", "{\"top\":[3]}",
         "top has a value of another type than its schema says: expected K"},
        {&CLOSED, "search", "{\"stats\":\"yes\"}", "stats is true or false"},
        {&CLOSED, "search", "{\"modell\":\"x\"}",
         "search has no argument 'modell' (did you mean model?)"},
        {&CLOSED, "search", "{\"report\":\"x.html\"}",
         "report is refused: it writes a file, and this server writes none"},
        {&OPEN, "search", "{\"hostfile\":\"hosts\"}",
         "hostfile is refused: it writes a file, and this server writes none"},
        {&CLOSED, "search", "{\"rules\":[\"my.rules\"]}",
         "rules is refused: it reads a file, and this server was started without --allow FOLDER"},
        {&CLOSED, "estimate", "{\"file\":\"train.sh\"}",
         "file is refused: it reads a file, and this server was started without --allow FOLDER"},
        {&OPEN, "search", "{\"file\":\"train.sh\"}", "search has no argument 'file'"},
        {&CLOSED, "estimate", "{\"script\":\"a\",\"answer\":{}}",
         "of answer, script and file one is given, not several"},
        {&CLOSED, "estimate", "{\"answer\":\"text\"}",
         "answer is an object: what search or estimate gave"},
        {&CLOSED, "estimate", "{\"script\":3}", "script is a text"},
        {&CLOSED, "estimate", "{\"flags\":\"--bf16\"}",
         "flags is a list of words, as [\"--bf16\", \"--micro-batch-size\", \"1\"]"},
        {&CLOSED, "estimate", "{\"flags\":[\"--bf16\",1]}",
         "flags is a list of words, as [\"--bf16\", \"--micro-batch-size\", \"1\"]"},
        {&CLOSED, "estimate", "{\"flags\":[\"--bf16\"]}", ""},
        {&CLOSED, "export", "{\"answer\":{\"gpus\":8},\"to\":\"slurm\"}",
         "answer: not a plan of Astra: engine.flags or cluster is missing (write one with --format "
         "json)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct json *v = json_parse(CASES[i].arguments, strlen(CASES[i].arguments), "t", NULL);
        const struct mcp_question q = {.tool = tool_find(CASES[i].tool),
                                       .arguments = v,
                                       .terms = CASES[i].terms,
                                       .revision = REVISION_2025_06_18};
        struct astra *a = astra_new();
        struct str message = {0};
        bool ok = question_put(&q, a, &message);
        assert_string_equal(str_text(&message), CASES[i].message);
        assert_true(ok == !*CASES[i].message);
        str_release(&message);
        astra_free(a);
        json_release(v);
    }
}

static struct json *answered(const char *tool, const char *arguments, enum mcp_revision revision)
{
    struct json *v = json_parse(arguments, strlen(arguments), "t", NULL);
    const struct mcp_question q = {
        .tool = tool_find(tool), .arguments = v, .terms = &CLOSED, .revision = revision};
    struct str out = {0};
    question_answer(&q, &out);
    struct json *result = json_parse(str_text(&out), out.length, "result", NULL);
    str_release(&out);
    json_release(v);
    assert_non_null(result);
    return result;
}

/* Text for people and the same as JSON, which has a place of its own in newer revisions. */
static void answers_are_text_and_json(void **state)
{
    static const char ARGUMENTS[] = "{\"model\":\"llama3-8b\",\"cluster\":\"1x8:H100\","
                                    "\"set\":[\"tp=2\",\"dist_opt=on\"]}";
    struct str plan = {0};
    (void)state;
    struct json *new = answered("estimate", ARGUMENTS, REVISION_2025_06_18);
    struct json *old = answered("estimate", ARGUMENTS, REVISION_2024_11_05);
    const struct json *answer = json_get(new, "structuredContent");
    assert_int_equal(json_count(json_get(new, "content")), 1);
    assert_int_equal(json_count(json_get(old, "content")), 2);
    assert_null(json_get(old, "structuredContent"));
    assert_true(json_number_of(json_get(answer, "step_s")) > 0);
    assert_null(json_get(new, "isError"));

    str_add(&plan, "{\"to\":\"slurm\",\"answer\":");
    json_dump_line(answer, &plan);
    str_add(&plan, "}");
    struct json *script = answered("export", str_text(&plan), REVISION_2025_06_18);
    const char *text = json_text(json_get(json_at(json_get(script, "content"), 0), "text"));
    assert_non_null(strstr(text, "#SBATCH"));
    assert_string_equal(text, json_text(json_get(json_get(script, "structuredContent"), "script")));
    json_release(new);
    json_release(old);
    json_release(script);
    str_release(&plan);
}

/* A plan that does not fit is an answer; a question that cannot be answered is an error. */
static void misfits_are_answers_and_faults_errors(void **state)
{
    (void)state;
    struct json *misfit = answered(
        "estimate", "{\"model\":\"llama3-70b\",\"cluster\":\"1x8:H100\"}", REVISION_2025_06_18);
    struct json *fault = answered("search", "{\"model\":\"llama3-70b\"}", REVISION_2025_06_18);
    assert_null(json_get(misfit, "isError"));
    assert_int_equal(json_count(json_get(misfit, "content")), 2);
    assert_true(json_is_object(json_get(misfit, "structuredContent")));
    assert_true(json_bool_of(json_get(fault, "isError")));
    assert_null(json_get(fault, "structuredContent"));
    json_release(misfit);
    json_release(fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revisions_are_agreed),
        cmocka_unit_test(wrong_messages_have_their_codes),
        cmocka_unit_test(nothing_but_pings_before_initialize),
        cmocka_unit_test(deep_messages_are_refused_unparsed),
        cmocka_unit_test(calls_wait_are_answered_and_cancelled),
        cmocka_unit_test(batches_are_answered_whole),
        cmocka_unit_test(schemas_have_every_option),
        cmocka_unit_test(arguments_are_taken_or_refused),
        cmocka_unit_test(answers_are_text_and_json),
        cmocka_unit_test(misfits_are_answers_and_faults_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
