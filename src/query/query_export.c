/* Options of an export. Names that end up in scripts have letters, digits and few signs: nothing
 * that a shell, YAML or Slurm would read as anything but a name. */
#include "base/file.h"
#include "base/str.h"
#include "export/export.h"
#include "export/job.h"
#include "query/query_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 63, MAX_HOST = 253 };

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

bool option_format(struct options *o, const char *v, struct error *err)
{
    o->export.format = export_format_find(v, err);
    return o->export.format != NULL;
}

bool option_release(struct options *o, const char *v, struct error *err)
{
    int minor = 0, patch = 0;
    o->export.version = arena_string(o->mem, v);
    if (!export_release(v, &minor, &patch, err))
        return false;
    o->terms.release = minor == INT_MAX ? RELEASE_HEAD : minor + patch / 100.0;
    return true;
}

bool option_job_name(struct options *o, const char *v, struct error *err)
{
    size_t length = strlen(v);
    if (length == 0 || length > MAX_NAME || strspn(v, LETTERS "._-") != length ||
        strspn(v, LETTERS) == 0)
        return fail(err, ERROR_INPUT,
                    "--job-name is '%.80s', expected 1 to %d letters, digits, '.', '_' and '-', a "
                    "letter or digit first",
                    v, MAX_NAME);
    o->export.job_name = arena_string(o->mem, v);
    return true;
}

static bool take_host(struct options *o, const char *path, int line, const char *name,
                      size_t length, struct error *err)
{
    if (length > MAX_HOST || strspn(name, LETTERS "._-:") < length || strspn(name, LETTERS) == 0)
        return fail(err, ERROR_INPUT,
                    "%s:%d: '%.*s' is not a host name: expected letters, digits, '.', '_', ':' and "
                    "'-', a letter or digit first",
                    path, line, (int)(length > 80 ? 80 : length), name);
    o->export.host[o->export.hosts++] = arena_copy(o->mem, name, length);
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool hosts_differ(struct options *o, struct error *err)
{
    size_t count = o->export.hosts;
    const char **sorted = arena_array(o->mem, count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = o->export.host[i];
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return fail(err, ERROR_INPUT, "%s: host '%s' is given twice", o->export.hosts_file,
                        sorted[i]);
    return true;
}

/* A name a line; empty lines and those with # count for nothing. */
bool options_hosts(struct options *o, const char *text, size_t size, const char *path,
                   struct error *err)
{
    const char *end = text + size;
    size_t lines = 1;
    int number = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    o->export.host = arena_array(o->mem, lines, sizeof *o->export.host);
    o->export.hosts = 0;
    o->export.hosts_file = arena_string(o->mem, path);
    for (const char *at = text; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        size_t name = length - (length > 0 && at[length - 1] == '\r');
        if (name > 0 && *at != '#' && !take_host(o, path, number, at, name, err))
            return false;
        at += length + (stop != NULL);
    }
    if (o->export.hosts == 0)
        return fail(err, ERROR_INPUT, "%s: it names no host", path);
    return hosts_differ(o, err);
}

bool option_hosts(struct options *o, const char *v, struct error *err)
{
    struct text text;
    return file_read(v, o->mem, &text, err) && options_hosts(o, text.data, text.length, v, err);
}

bool option_hostfile(struct options *o, const char *v, struct error *err)
{
    if (!*v || strcmp(v, "-") == 0)
        return fail(err, ERROR_INPUT, "--hostfile is '%s', expected the name of a file", v);
    for (const char *c = v; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return fail(err, ERROR_INPUT, "--hostfile: the name has a control character");
    o->export.hostfile = arena_string(o->mem, v);
    return true;
}

/* Which formats an option goes with. */
bool options_export(const struct options *o, struct error *err)
{
    const struct export_options *x = &o->export;
    const struct {
        const char *option, *formats;
        bool given;
    } options[] = {
        {"launcher", "slurm", o->times[OPTION_launcher]},
        {"hosts", "slurm torchrun flagscale", x->hosts > 0},
        {"hostfile", "flagscale", x->hostfile},
        {"job-name", "slurm k8s pytorchjob skypilot flagscale", x->job_name},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given && !x->format)
            return fail(err, ERROR_INPUT, "--%s goes with --export", options[i].option);
        if (options[i].given && !strstr(options[i].formats, x->format->name))
            return fail(err, ERROR_INPUT, "--%s has no effect on %s, only on: %s",
                        options[i].option, x->format->name, options[i].formats);
    }
    return true;
}
