/* Plans side by side, for the page: what JSON says of them, and the words that the program has for it. */
#include "report/page/page_parts.h"

#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "model/model.h"
#include "probe/differences.h"
#include "report/json/json_out.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/report.h"

#include "astra.h"

#include <string.h>

static struct json *side_of(const struct side *s)
{
    struct json *o = json_new_object();
    struct str text = {0};
    json_set(o, "name", json_new_string(s->name));
    add_gpus(s->plan, &text);
    json_set(o, "gpus", json_new_string(str_text(&text)));
    str_clear(&text);
    add_ways_of(s->plan, &text);
    json_set(o, "ways", json_new_string(str_text(&text)));
    str_release(&text);
    return o;
}

/* What all of them train, or that they train different models. */
static struct json *question_of(const struct compare_report *r)
{
    const struct model *first = r->side[0].plan->model;
    struct str text = {0};
    bool same = true;
    for (int i = 1; i < r->sides; i++)
        same = same && strcmp(first->name, r->side[i].plan->model->name) == 0;
    if (same)
        add_model_words(first, &text);
    str_add(&text, same ? ", as predicted" : "different models, as predicted");
    struct json *o = json_new_string(str_text(&text));
    str_release(&text);
    return o;
}

struct json *page_compare_data(const struct compare_report *r)
{
    struct json *o = json_new_object(), *sides = json_new_array(), *limits = json_new_array();
    for (int i = 0; i < r->sides; i++) {
        json_append(sides, side_of(&r->side[i]));
        json_append(limits, json_new_number(r->side[i].plan->limit_bytes / GIB));
    }
    json_set(o, "version", json_new_string(ASTRA_VERSION));
    json_set(o, "question", question_of(r));
    json_set(o, "sides", sides);
    json_set(o, "limit_gib", limits);
    json_set(o, "comparison", json_of_compare(r));
    return o;
}
