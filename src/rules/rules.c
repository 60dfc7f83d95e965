/* Rule files: lines of a keyword, an expression and a reason. An expression alone is refused:
 * papers write rules both ways, as what must hold and as what to drop, and a guess would be wrong
 * silently. */
#include "rules/rules.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "rules/code.h"
#include "rules/lex.h"

#include <assert.h>
#include <string.h>

extern const char embedded_rules_megatron_rules[];
extern const char embedded_rules_sense_rules[];
extern const char embedded_rules_engine_rules[];
extern const char embedded_rules_hf_rules[];
extern const char embedded_rules_cautions_rules[];

static const char *const KEYWORDS[] = {
    [RULE_REQUIRE] = "require", [RULE_REJECT] = "reject", [RULE_AVOID] = "avoid"};
enum { KINDS = sizeof KEYWORDS / sizeof *KEYWORDS };

void rules_init(struct rules *r)
{
    *r = (struct rules){0};
}

static struct rule *next_rule(struct rules *r, struct arena *mem)
{
    r->rule = arena_room(mem, r->rule, r->count, &r->capacity, sizeof *r->rule);
    assert(r->count < r->capacity);
    return &r->rule[r->count];
}

static bool read_keyword(struct lexer *lex, enum rule_kind *kind)
{
    char name[NAME_BYTES] = "";
    if (lex->token.kind == TOKEN_NAME)
        lex_name(lex, &lex->token, name);
    for (int i = 0; i < KINDS; i++)
        if (strcmp(name, KEYWORDS[i]) == 0) {
            *kind = (enum rule_kind)i;
            return lex_next(lex);
        }
    return lex_fail(lex, lex->token.begin - (lex->token.kind == TOKEN_STRING),
                    "a rule starts with require (keep what satisfies it), reject (drop what does) "
                    "or avoid (say so)%s",
                    did_you_mean(name, KEYWORDS, KINDS));
}

static const char *keep_text(const struct lexer *lex, size_t begin, size_t end, struct arena *mem)
{
    while (end > begin && strchr(" \t\r", lex->text[end - 1]))
        end--;
    while (begin < end && strchr(" \t", lex->text[begin]))
        begin++;
    return arena_copy(mem, lex->text + begin, end - begin);
}

/* The reason, if the line has one, and nothing behind it. */
static bool read_reason(struct lexer *lex, struct rule *rule, struct arena *mem)
{
    rule->reason = rule->text;
    if (lex->token.kind == TOKEN_STRING) {
        const char *reason = keep_text(lex, lex->token.begin, lex->token.end, mem);
        if (*reason)
            rule->reason = reason;
        if (!lex_next(lex))
            return false;
        return lex->token.kind == TOKEN_END || lex_expected(lex, "nothing behind the reason");
    }
    return lex->token.kind == TOKEN_END ||
           lex_expected(lex, "an operator, or a \"reason\" as the end of the rule");
}

/* A caution is no more than what its source is worth: "reason, source", the last comma between. */
static bool take_source(struct lexer *lex, struct rule *rule, size_t at, struct arena *mem)
{
    const char *comma = strrchr(rule->reason, ',');
    size_t length = comma ? (size_t)(comma - rule->reason) : 0;
    const char *source = comma ? comma + 1 + strspn(comma + 1, " \t") : "";
    if (rule->reason == rule->text || length == 0 || !*source)
        return lex_fail(lex, at,
                        "a caution says why and who says so: avoid EXPRESSION \"reason, source\", "
                        "the source behind the last comma");
    rule->source = source;
    rule->reason = arena_copy(mem, rule->reason, length);
    return true;
}

static bool read_rule(struct lexer *lex, struct rule *rule, struct arena *mem)
{
    struct code code;
    size_t begin = lex->token.end;
    if (!read_keyword(lex, &rule->kind))
        return false;
    if (!parse_expression(lex, &code))
        return false;
    size_t end = lex->token.begin - (lex->token.kind == TOKEN_STRING);
    rule->line = lex->line;
    rule->source = NULL;
    rule->text = keep_text(lex, begin, end, mem);
    rule->depends = code_depends(&code);
    rule->code = code_keep(&code, mem);
    if (!read_reason(lex, rule, mem))
        return false;
    return rule->kind != RULE_AVOID || take_source(lex, rule, end, mem);
}

static bool read_lines(struct rules *r, struct lexer *lex, struct arena *mem)
{
    while (lex_line(lex)) {
        struct rule *rule = next_rule(r, mem);
        if (!lex_next(lex))
            return false;
        if (lex->token.kind == TOKEN_END)
            continue;
        rule->file = lex->file;
        if (!read_rule(lex, rule, mem))
            return false;
        r->count++;
    }
    return true;
}

bool rules_add(struct rules *r, const char *text, size_t length, const char *file,
               struct arena *mem, struct error *err)
{
    if (length > FILE_LIMIT)
        return fail(err, ERROR_INPUT, "%s: larger than %d MiB", file, FILE_LIMIT >> 20);
    struct lexer lex;
    int before = r->count;
    lex_init(&lex, text, length, arena_string(mem, file), err);
    if (read_lines(r, &lex, mem))
        return true;
    r->count = before;
    return false;
}

bool rules_add_file(struct rules *r, const char *path, struct arena *mem, struct error *err)
{
    struct text text;
    return file_read(path, mem, &text, err) && rules_add(r, text.data, text.length, path, mem, err);
}

bool rules_add_megatron(struct rules *r, struct arena *mem, struct error *err)
{
    const char *text = embedded_rules_megatron_rules;
    return rules_add(r, text, strlen(text), "megatron.rules", mem, err);
}

bool rules_add_sense(struct rules *r, struct arena *mem, struct error *err)
{
    const char *text = embedded_rules_sense_rules;
    return rules_add(r, text, strlen(text), "sense.rules", mem, err);
}

bool rules_add_engine(struct rules *r, struct arena *mem, struct error *err)
{
    const char *text = embedded_rules_engine_rules;
    return rules_add(r, text, strlen(text), "engine.rules", mem, err);
}

bool rules_add_hf(struct rules *r, struct arena *mem, struct error *err)
{
    const char *text = embedded_rules_hf_rules;
    return rules_add(r, text, strlen(text), "hf.rules", mem, err);
}

bool rules_add_cautions(struct rules *r, struct arena *mem, struct error *err)
{
    const char *text = embedded_rules_cautions_rules;
    return rules_add(r, text, strlen(text), "cautions.rules", mem, err);
}

void rules_append(struct rules *r, const struct rules *more, struct arena *mem)
{
    for (int i = 0; i < more->count; i++) {
        *next_rule(r, mem) = more->rule[i];
        r->count++;
    }
}

void rules_deal(const struct rules *read, struct rules *drop, struct rules *cautions,
                struct arena *mem)
{
    for (int i = 0; i < read->count; i++) {
        struct rules *to = read->rule[i].kind == RULE_AVOID ? cautions : drop;
        *next_rule(to, mem) = read->rule[i];
        to->count++;
    }
}
