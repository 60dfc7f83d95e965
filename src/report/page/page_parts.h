/* What the files that write a page share. Everything becomes one JSON value, which the scripts in
 * data/page draw. */
#pragma once

struct arena;
struct compare_report;
struct json;
struct page;
struct plan;
struct search_report;

/* Words that repeat are written once, and their places in the list instead of them. */
struct page_words {
    struct arena *mem;
    int count, room;
    const char **word; /* [count] in the order they came */
    int slots, *slot;  /* a hash table of places in `word`, -1 = free */
};
void page_words_init(struct page_words *, struct arena *);
int page_words_add(struct page_words *, const char *); /* its place */
struct json *page_words_json(const struct page_words *);

/* The listed plans, then those of the front that are not listed. */
struct page_list {
    int count, listed, fronts;
    const struct plan **plan; /* [count] */
    int *front;               /* [fronts] places in `plan`, cheapest first */
};
void page_list_init(struct page_list *, const struct search_report *, struct arena *);

/* Of every plan its parameters and figures, by column; flags; stages while there is room. */
struct json *page_plans(const struct page_list *, struct arena *);
struct json *page_flags(const struct page_list *, struct arena *);
struct json *page_stages(const struct page_list *);

/* One step of a plan; null where it has none. */
struct json *page_timeline(const struct plan *);

/* Everything; of plans side by side: what JSON has of them, their words and limits. */
struct json *page_data(const struct page *, struct arena *);
struct json *page_compare_data(const struct compare_report *);
