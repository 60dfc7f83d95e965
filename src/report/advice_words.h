/* What probes found about a plan, in sentences: text and page show the same. */
#pragma once

struct arena;
struct plan_answer;

enum { ADVICE_ITEMS = 24, ADVICE_SECTIONS = 5 };
struct advice_section {
    const char *heading; /* "" : belongs to the verdict */
    int items;
    const char *item[ADVICE_ITEMS];
};

/* "mind: reason (source)". */
struct rule;
const char *caution_words(const struct rule *, struct arena *);

/* One line on what would make the plan fit; no item where nothing is to be said, as of the others. */
struct advice_section fix_words(const struct plan_answer *, struct arena *);
struct advice_section speedup_words(const struct plan_answer *, struct arena *);
struct advice_section hint_words(const struct plan_answer *);
struct advice_section better_words(const struct plan_answer *, struct arena *);

/* All of these in this order, those with items; returns how many. */
int advice_words(const struct plan_answer *, struct arena *,
                 struct advice_section[ADVICE_SECTIONS]);
