/* Files of defaults: where the command looks for them. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum astra_status read_if_there(struct astra *a, const char *path)
{
    return access(path, F_OK) == 0 ? astra_defaults(a, path) : ASTRA_OK;
}

/* $XDG_CONFIG_HOME/astra/config.yaml, or that below ~/.config. */
static enum astra_status read_users(struct astra *a)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[4096];
    int n = 0;
    if (config && *config == '/')
        n = snprintf(path, sizeof path, "%s/astra/config.yaml", config);
    else if (home && *home)
        n = snprintf(path, sizeof path, "%s/.config/astra/config.yaml", home);
    return n > 0 && (size_t)n < sizeof path ? read_if_there(a, path) : ASTRA_OK;
}

enum astra_status config_read(struct astra *a, const struct request *r)
{
    if (r->no_config || r->command->ask == serve_mcp)
        return ASTRA_OK;
    enum astra_status status = read_users(a);
    return status == ASTRA_OK ? read_if_there(a, "./astra.yaml") : status;
}
