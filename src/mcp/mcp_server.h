/* A server of the Model Context Protocol on two descriptors. */
#pragma once

#include "base/error.h"
#include "mcp/mcp_tools.h"

struct arena;

/* Folders by their canonical names, which live in the arena. */
bool mcp_allow(struct mcp_terms *, const char *const *folders, int count, struct arena *,
               struct error *);

/* Until the client goes away: it closes `in` and everything that it asked is answered, or it closes
 * `out`. Nothing is left behind. Forks: for a process without other threads. */
bool mcp_serve(const struct mcp_terms *, int in, int out, struct error *);
