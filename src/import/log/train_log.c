/* Lines of the block are "  name ........ value", behind whatever torchrun and srun put before a
 * line. The vocabulary is often not among the arguments, but told by the tokenizer a little later:
 * " > padded vocab (size: 128000) with 256 dummy tokens (new size: 128256)". */
#include "import/log/train_log.h"

#include "base/arena.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { LONGEST_LINE = 65536, VOCAB_WITHIN = 4 << 20, AGAIN_WITHIN = 64 << 20 };

void train_log_init(struct train_log *t, struct arena *mem)
{
    *t = (struct train_log){.number = 1};
    dest_list_init(&t->list, DEST_LOG, mem);
    str_init(&t->line);
}

void train_log_release(struct train_log *t)
{
    str_release(&t->line);
}

bool train_log_argument(const char *line, const char **name, size_t *length, const char **value)
{
    const char *dots = strstr(line, " .");
    while (dots && dots[1 + strspn(dots + 1, ".")] != ' ' && dots[1 + strspn(dots + 1, ".")])
        dots = strstr(dots + 1, " .");
    if (!dots)
        return false;
    const char *from = dots;
    while (from > line && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    *name = from;
    *length = (size_t)(dots - from);
    *value = dots + 1 + strspn(dots + 1, ".");
    *value += strspn(*value, " ");
    return *length > 0;
}

static void read_argument(struct train_log *t, const char *line)
{
    const char *name, *value;
    size_t length;
    if (!train_log_argument(line, &name, &length, &value))
        return;
    const char *copy = arena_copy(t->list.mem, name, length);
    t->read++;
    if (strcmp(copy, "world_size") == 0 && (!parse_int(value, &t->world) || t->world < 1))
        t->world = 0;
    if (strcmp(copy, "vocab_size") == 0 || strcmp(copy, "padded_vocab_size") == 0)
        t->has_vocab |= strcmp(value, "None") != 0;
    dest_add(&t->list, copy, value, t->number);
}

static void read_vocab(struct train_log *t, const char *line)
{
    const char *at = strstr(line, "padded vocab (size: ");
    char digits[24];
    if (!at || t->has_vocab || t->again || t->behind > VOCAB_WITHIN)
        return;
    at += strlen("padded vocab (size: ");
    size_t n = strspn(at, "0123456789");
    if (n == 0 || n >= sizeof digits)
        return;
    memcpy(digits, at, n);
    digits[n] = 0;
    t->has_vocab = true;
    dest_add(&t->list, "vocab_size", digits, t->number);
}

static void read_line(struct train_log *t)
{
    if (t->line.length && t->line.data[t->line.length - 1] == '\r')
        t->line.data[--t->line.length] = 0;
    const char *line = str_text(&t->line);
    if (t->ended && !t->again && strstr(line, "---- arguments ----"))
        t->again = t->number;
    else if (t->ended)
        read_vocab(t, line);
    else if (!t->begun && strstr(line, "---- arguments ----"))
        t->begun = t->number;
    else if (t->begun && strstr(line, "---- end of arguments ----"))
        t->ended = true;
    else if (t->begun)
        read_argument(t, line);
    str_clear(&t->line);
    if (t->number < INT_MAX)
        t->number++;
}

/* A line may be cut: only logs have such long ones, and nothing in them is ours. A NUL would end it
 * for us alone. */
static void add_piece(struct train_log *t, const char *data, size_t length)
{
    size_t room = LONGEST_LINE - t->line.length, used = length < room ? length : room;
    while (used > 0) {
        const char *nul = memchr(data, 0, used);
        size_t n = nul ? (size_t)(nul - data) : used;
        str_add_bytes(&t->line, data, n);
        if (nul)
            str_add(&t->line, " ");
        n += nul != NULL;
        data += n;
        used -= n;
    }
}

bool train_log_feed(struct train_log *t, const char *data, size_t length)
{
    if (t->ended)
        t->behind += (int64_t)length;
    while (length > 0) {
        const char *end = memchr(data, '\n', length);
        size_t n = end ? (size_t)(end - data) : length;
        add_piece(t, data, n);
        if (end)
            read_line(t);
        n += end != NULL;
        data += n;
        length -= n;
    }
    return !t->ended || (!t->again && t->behind < AGAIN_WITHIN);
}

bool train_log_launch(struct train_log *t, const char *path, struct launch *out)
{
    if (t->line.length)
        read_line(t);
    if (t->read == 0)
        return false;
    dest_list_drop_defaults(&t->list);
    *out = (struct launch){.path = path,
                           .kind = "training log",
                           .line = t->begun,
                           .count = t->list.count,
                           .word = t->list.word,
                           .unknowns = t->list.unknowns,
                           .unknown = t->list.unknown,
                           .gpus = t->world};
    if (!t->ended)
        launch_note(out, "the block of arguments has no end: the log is cut off");
    if (t->again)
        launch_note(out, arena_format(t->list.mem,
                                      "line %d has another block of arguments, which is not read: "
                                      "the run was started again",
                                      t->again));
    return true;
}
