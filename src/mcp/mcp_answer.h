/* From a tool and the arguments of a call to the result that the client gets. */
#pragma once

#include "mcp/mcp_tools.h"

struct str;

struct mcp_question {
    const struct mcp_tool *tool;
    const struct json *arguments; /* an object */
    const struct mcp_terms *terms;
    enum mcp_revision revision;
    void (*progress)(void *context, double done); /* NULL = none is wanted */
    void *progress_context;
};

/* Adds the result as a line of JSON. What is wrong with the arguments is a result too, one that says
 * so. */
void question_answer(const struct mcp_question *, struct str *out);

/* The arguments alone are read into a query, nothing is asked: for tests. */
bool question_put(const struct mcp_question *, struct astra *, struct str *message);

/* A result that says what is wrong. */
void result_failed(const char *message, struct str *out);
