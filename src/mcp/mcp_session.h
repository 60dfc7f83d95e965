/* One client: what a line of its means and what is answered. Knows neither pipes nor processes: lines
 * for the client gather in `out`, calls of tools in a list, from which a server takes and answers
 * them. */
#pragma once

#include "base/str.h"
#include "mcp/mcp_tools.h"

#include <stdbool.h>
#include <sys/types.h>

/* Messages that are nested deeper, longer batches and more calls at a time are refused. */
enum { MESSAGE_DEPTH = 64, BATCH_MAX = 64, CALLS_MAX = 64 };

/* Codes of JSON-RPC. */
enum mcp_code {
    CODE_PARSE = -32700,
    CODE_REQUEST = -32600,
    CODE_METHOD = -32601,
    CODE_PARAMS = -32602,
    CODE_INTERNAL = -32603,
    CODE_BUSY = -32000
};

struct mcp_batch; /* answers of a batch, which go out together */

enum call_state { CALL_WAITS, CALL_RUNS, CALL_CANCELLED };

struct mcp_call {
    enum call_state state;
    const struct mcp_tool *tool;
    char *id, *arguments;    /* owned, as JSON */
    char *token;             /* of progress, owned, as JSON; NULL = none is wanted */
    struct mcp_batch *batch; /* NULL = it came alone */
    struct mcp_call *next;
};

struct mcp_session {
    const struct mcp_terms *terms;
    enum mcp_revision revision;
    struct str out;         /* lines for the client */
    struct mcp_call *calls; /* owned, in the order they came */
    int count;
};

void session_init(struct mcp_session *, const struct mcp_terms *);
void session_release(struct mcp_session *);

/* A line without its end. */
void session_take(struct mcp_session *, const char *line, size_t length);
/* Instead of a line that was longer than a message may be. */
void session_too_long(struct mcp_session *);

/* The result of a call, a line of JSON, or that there is none; the call is gone then. */
void session_answer(struct mcp_session *, struct mcp_call *, const char *result);
void session_fail(struct mcp_session *, struct mcp_call *, enum mcp_code, const char *message);
/* A cancelled one, which gets no answer. */
void session_forget(struct mcp_session *, struct mcp_call *);
/* How far a call is, 0..1: the notification as a line without its end. */
void call_progress(const struct mcp_call *, double done, struct str *out);
