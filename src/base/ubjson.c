/* One function steps over a value of any type, with every length held to what is left: it checks the
 * document, and finds what lies behind a value afterwards. O(bytes) for a check, and for a look-up
 * O(values passed over): arrays of numbers are passed at one go. */
#include "base/ubjson.h"

#include <string.h>

enum { MOST_NESTING = 16 };

static uint32_t four_bytes(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Bytes of a number of this type; 0: no number. */
static size_t width_of(char type)
{
    switch (type) {
    case 'i':
    case 'U':
        return 1;
    case 'I':
        return 2;
    case 'l':
    case 'd':
        return 4;
    case 'L':
    case 'D':
        return 8;
    default:
        return 0;
    }
}

static int64_t integer_at(const unsigned char *at, char type)
{
    switch (type) {
    case 'i':
        return (int8_t)at[0];
    case 'U':
        return at[0];
    case 'I':
        return (int16_t)(at[0] << 8 | at[1]);
    case 'l':
        return (int32_t)four_bytes(at);
    default:
        return (int64_t)((uint64_t)four_bytes(at) << 32 | four_bytes(at + 4));
    }
}

/* Where reading stands. Nothing is read behind `end`. */
struct scan {
    const unsigned char *at, *end;
};

static bool take(struct scan *s, char type)
{
    if (s->at == s->end || *s->at != (unsigned char)type)
        return false;
    s->at++;
    return true;
}

static bool pass_bytes(struct scan *s, size_t count)
{
    if ((size_t)(s->end - s->at) < count)
        return false;
    s->at += count;
    return true;
}

/* A length or a count, with its type in front: never more than the bytes left, one for each at
 * least. */
static bool pass_length(struct scan *s, size_t *out)
{
    const unsigned char *from = s->at;
    char type = from < s->end ? (char)*from : 0;
    if (width_of(type) == 0 || type == 'd' || type == 'D' || !pass_bytes(s, 1 + width_of(type)))
        return false;
    int64_t length = integer_at(from + 1, type);
    *out = (size_t)length;
    return length >= 0 && length <= s->end - s->at;
}

static bool pass_string(struct scan *s)
{
    size_t length;
    return pass_length(s, &length) && pass_bytes(s, length);
}

static bool pass_value(struct scan *s, int nesting);

static bool pass_object(struct scan *s, int nesting)
{
    while (!take(s, '}'))
        if (!pass_string(s) || !pass_value(s, nesting))
            return false;
    return true;
}

/* Behind '[': the type of its numbers or 0, and their count. */
static bool pass_head(struct scan *s, char *type, size_t *count)
{
    *type = 0;
    if (take(s, '$')) {
        *type = s->at < s->end ? (char)*s->at : 0;
        if (width_of(*type) == 0)
            return false;
        s->at++;
    }
    return take(s, '#') && pass_length(s, count);
}

static bool pass_array(struct scan *s, int nesting)
{
    char type;
    size_t count;
    if (!pass_head(s, &type, &count))
        return false;
    if (type)
        return count <= (size_t)(s->end - s->at) / width_of(type) &&
               pass_bytes(s, count * width_of(type));
    for (size_t i = 0; i < count; i++)
        if (!pass_value(s, nesting))
            return false;
    return true;
}

/* Where it returns false, `at` stands at what is wrong. */
static bool pass_value(struct scan *s, int nesting)
{
    char type = s->at < s->end ? (char)*s->at : 0;
    if (nesting == MOST_NESTING)
        return false;
    if (take(s, '{'))
        return pass_object(s, nesting + 1);
    if (take(s, '['))
        return pass_array(s, nesting + 1);
    if (take(s, 'S'))
        return pass_string(s);
    if (take(s, 'T') || take(s, 'F') || take(s, 'Z'))
        return true;
    return width_of(type) > 0 && pass_bytes(s, 1 + width_of(type));
}

bool ubjson_check(struct ubjson *out, const void *bytes, size_t size, const char *name,
                  struct error *err)
{
    struct scan s = {bytes, (const unsigned char *)bytes + size};
    const unsigned char *start = s.at;
    if (size == 0 || *start != '{')
        return fail(err, ERROR_INPUT, "%s is not UBJSON: it does not begin with {", name);
    if (!pass_value(&s, 0))
        return fail(err, ERROR_INPUT, "%s is not UBJSON as xgboost writes it, at byte %zu of %zu",
                    name, (size_t)(s.at - start), size);
    if (s.at != s.end)
        return fail(err, ERROR_INPUT, "%s: %zu bytes of it are left over behind byte %zu", name,
                    (size_t)(s.end - s.at), (size_t)(s.at - start));
    *out = (struct ubjson){start, s.end};
    return true;
}

static bool is(struct ubjson v, char type)
{
    return v.at && v.at < v.end && *v.at == (unsigned char)type;
}

struct ubjson ubjson_get(struct ubjson object, const char *key)
{
    struct scan s = {object.at, object.end};
    size_t length = 0;
    if (!is(object, '{'))
        return (struct ubjson){0};
    s.at++;
    while (!take(&s, '}')) {
        if (!pass_length(&s, &length))
            break;
        const unsigned char *name = s.at;
        s.at += length;
        if (length == strlen(key) && memcmp(name, key, length) == 0)
            return (struct ubjson){s.at, s.end};
        if (!pass_value(&s, 0))
            break;
    }
    return (struct ubjson){0};
}

struct ubjson ubjson_first(struct ubjson array)
{
    struct scan s = {array.at + 1, array.end};
    char type;
    size_t count;
    if (ubjson_count(array) == 0 || !pass_head(&s, &type, &count))
        return (struct ubjson){0};
    return (struct ubjson){s.at, s.end};
}

struct ubjson ubjson_next(struct ubjson value)
{
    struct scan s = {value.at, value.end};
    return pass_value(&s, 0) ? (struct ubjson){s.at, s.end} : (struct ubjson){0};
}

size_t ubjson_count(struct ubjson array)
{
    struct scan s = {array.at, array.end};
    char type;
    size_t count;
    return is(array, '[') && take(&s, '[') && pass_head(&s, &type, &count) && !type ? count : 0;
}

void ubjson_text(struct ubjson v, char *out, size_t size)
{
    struct scan s = {v.at, v.end};
    size_t length;
    *out = 0;
    if (!is(v, 'S') || !take(&s, 'S') || !pass_length(&s, &length) || length >= size)
        return;
    memcpy(out, s.at, length);
    out[length] = 0;
}

bool ubjson_numbers(struct ubjson v, struct ubjson_numbers *out)
{
    struct scan s = {v.at, v.end};
    if (!is(v, '[') || !take(&s, '[') || !pass_head(&s, &out->type, &out->count) || !out->type)
        return false;
    out->data = s.at;
    return true;
}

bool ubjson_are_floats(struct ubjson_numbers n)
{
    return n.type == 'd';
}

bool ubjson_are_integers(struct ubjson_numbers n)
{
    return n.type != 'd' && n.type != 'D';
}

float ubjson_float(struct ubjson_numbers n, size_t i)
{
    uint32_t bits = four_bytes(n.data + 4 * i);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

int64_t ubjson_integer(struct ubjson_numbers n, size_t i)
{
    return integer_at(n.data + i * width_of(n.type), n.type);
}
