/* The tools: what they take, as a JSON schema and as a judge of what came. Both are made of the table
 * of options, so that they cannot disagree. */
#pragma once

#include "astra.h"

#include <stddef.h>

struct json;
struct option;

/* What a server lets its clients do. */
struct mcp_terms {
    const char *const *allow; /* folders whose files may be read, canonical; NULL ends */
    double call_s;            /* longest that one call may take */
    size_t message_bytes;     /* longest that one message may be */
};

/* Revisions of the protocol, oldest first, and since which one something is there. */
enum mcp_revision {
    REVISION_NONE, /* not agreed yet */
    REVISION_2024_11_05,
    REVISION_2025_03_26, /* batches, hints on tools */
    REVISION_2025_06_18, /* structured answers, titles; no batches */
    REVISION_2025_11_25,
    REVISION_COUNT
};

enum mcp_given { GIVEN_OPTIONS = 0, GIVEN_FILE = 1, GIVEN_FLAGS = 2 };
enum mcp_gives { GIVES_JSON, GIVES_SCRIPT };

struct mcp_tool {
    const char *name;
    enum astra_status (*ask)(struct astra *);
    unsigned given; /* enum mcp_given, together */
    enum mcp_gives gives;
    const char *needed; /* members, with a blank between them */
    const char *title, *about;
};

const struct mcp_tool *mcp_tools(void); /* name NULL ends */
const struct mcp_tool *tool_find(const char *name);

/* What an argument of a call is. */
enum argument_kind {
    ARGUMENT_UNKNOWN,
    ARGUMENT_OPTION,
    ARGUMENT_ANSWER, /* a plan, as JSON */
    ARGUMENT_SCRIPT, /* what a file would hold */
    ARGUMENT_FILE,   /* its name */
    ARGUMENT_FLAGS,  /* words of Megatron-LM */
    ARGUMENT_READS,  /* an option that reads a file where none may be read */
    ARGUMENT_WRITES  /* an option that writes one */
};
/* `option` is set for an option that may be given. */
enum argument_kind argument_find(const struct mcp_tool *, const char *name,
                                 const struct mcp_terms *, const struct astra_option **option);
/* The closest name that is there, or NULL. */
const char *argument_nearest(const struct mcp_tool *, const char *name, const struct mcp_terms *);

/* The answer to tools/list; the caller releases it. */
struct json *tools_json(const struct mcp_terms *, enum mcp_revision);
