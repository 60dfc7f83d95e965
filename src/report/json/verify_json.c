/* `verify` for programs. The JSON has all that is needed to evaluate what ran once more: cluster,
 * flags, stack, stages. */
#include "report/report.h"

#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "report/csv/csv_out.h"
#include "report/json/json_out.h"
#include "verify/verify.h"

#include <math.h>

static struct json *bytes_of(double mib)
{
    return isnan(mib) ? json_new_null() : json_new_integer(llround(mib * MIB));
}

static struct json *measured_of(const struct verify_stage *s)
{
    const struct rank_result *m = &s->measured;
    if (s->outcome != VERIFY_OK)
        return json_new_null();
    struct json *o = json_new_object();
    json_set(o, "compute_s", json_new_number(m->compute_ms / 1e3));
    json_set(o, "peak_bytes", bytes_of(m->peak_mib));
    json_set(o, "reserved_bytes", bytes_of(m->reserved_mib));
    json_set(o, "iterations", json_new_integer(m->iterations));
    json_set(o, "fill_s", json_new_number(m->fill_ms / 1e3));
    json_set(o, "sm_mhz", json_new_number(m->sm_mhz));
    json_set(o, "watts", json_new_number(m->watts));
    json_set(o, "watt_limit", json_new_number(m->watt_limit));
    return o;
}

static struct json *predicted_of(const struct verify_stage *s)
{
    struct json *o = json_new_object();
    json_set(o, "gpu", json_new_string(s->predicted_for->name));
    json_set(o, "compute_s", json_number_or_null(s->timed, s->compute_s));
    json_set(o, "peak_bytes", bytes_of(s->peak_bytes / MIB));
    json_set(o, "expected_error", json_new_number(s->expected_error));
    return o;
}

static struct json *errors_of(double compute, double memory)
{
    struct json *o = json_new_object();
    json_set(o, "compute", json_new_number(compute));
    json_set(o, "memory", json_new_number(memory));
    return o;
}

static struct json *command_of(const struct verify_stage *s)
{
    size_t n = 0;
    while (s->command[n])
        n++;
    return json_new_strings(s->command, n);
}

static struct json *stage_of(const struct verify_report *r, const struct verify_stage *s)
{
    struct json *o = json_new_object();
    json_set(o, "stage", json_new_integer(s->stage));
    json_set(o, "kind", json_new_string(s->kind));
    json_set(o, "virtual_stages", json_new_integer(s->virtual_stages));
    json_set(o, "layers", json_new_integer(s->layers));
    json_set(o, "alike", json_new_integer(s->alike));
    json_set(o, "rank", json_new_integer(s->rank));
    json_set(o, "status", json_new_string(s->status));
    json_set(o, "predicted", predicted_of(s));
    json_set(o, "measured", measured_of(s));
    json_set(o, "error", errors_of(s->compute_error, s->memory_error));
    json_set(o, "suspect", json_new_strings(s->suspect, (size_t)s->suspects));
    if (r->dry_run)
        json_set(o, "command", command_of(s));
    return o;
}

/* The nodes as the plan's own JSON has them. */
static void set_cluster(struct json *o, const struct plan *p)
{
    static const char *const keys[] = {"model", "cluster", "node_group", "node_groups", "links"};
    struct json *plan = json_of_plan(p);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_get(plan, keys[i]))
            json_set(o, keys[i], json_new_copy(json_get(plan, keys[i]), NULL));
    json_release(plan);
}

static void set_machine(struct json *o, const struct verify_report *r)
{
    json_set(o, "gpu", json_text_or_null(r->check.gpu));
    json_set(o, "total_mib", r->dry_run ? json_new_null() : json_new_number(r->check.total_mib));
    json_set(o, "torch", json_text_or_null(r->check.torch));
    json_set(o, "te", json_text_or_null(r->check.te));
    json_set(o, "megatron", json_text_or_null(r->check.megatron));
}

void report_verify_json(const struct verify_report *r, struct str *out)
{
    struct json *o = json_new_object(), *stages = json_new_array();
    json_set(o, "kind", json_new_string("astra-verify"));
    json_set(o, "version", json_new_integer(1));
    json_set(o, "dry_run", json_new_bool(r->dry_run));
    set_machine(o, r);
    json_set(o, "stack", json_new_string(plan_stack(r->run)));
    json_set(o, "plan_stack", json_new_string(plan_stack(r->plan)));
    set_cluster(o, r->run);
    json_set(o, "world", json_new_integer(r->run->gpus));
    json_set(o, "flags", json_new_strings((const char *const *)r->flag, r->flags));
    json_set(o, "plan_flags", json_new_strings((const char *const *)r->plan_flag, r->plan_flags));
    json_set(o, "micro_batches", json_new_integer(r->micro_batches));
    json_set(o, "plan_micro_batches", json_new_integer(r->all_micro_batches));
    for (int i = 0; i < r->stages; i++)
        json_append(stages, stage_of(r, &r->stage[i]));
    json_set(o, "stages", stages);
    json_set(o, "mean_abs_error", errors_of(r->mean_compute_error, r->mean_memory_error));
    json_set(o, "expected_error", json_new_number(r->plan->expected_error));
    json_set(o, "step_s", json_new_number(r->plan->step_s));
    json_set(o, "measured_step_s", json_new_number(r->step_s));
    json_set(o, "notes", json_new_strings((const char *const *)r->note, (size_t)r->notes));
    json_set(o, "confirmed", r->dry_run ? json_new_null() : json_new_bool(r->confirmed));
    json_set(o, "verdict", r->dry_run ? json_new_null() : json_new_string(r->verdict));
    json_dump_release(o, out);
}

static void add_row(struct csv_writer *c, const struct verify_report *r,
                    const struct verify_stage *s)
{
    const struct rank_result *m = &s->measured;
    bool ran = s->outcome == VERIFY_OK;
    csv_text(c, r->check.gpu);
    csv_text(c, plan_stack(r->run));
    csv_number(c, (double)r->micro_batches);
    csv_number(c, s->stage);
    csv_text(c, s->kind);
    csv_number(c, s->layers);
    csv_number(c, (double)s->rank);
    csv_text(c, s->status);
    csv_number_if(c, s->timed, s->compute_s);
    csv_number_if(c, ran, m->compute_ms / 1e3);
    csv_number(c, s->compute_error);
    csv_number(c, round(s->peak_bytes));
    csv_number_if(c, ran, round(m->peak_mib * MIB));
    csv_number(c, s->memory_error);
    csv_number_if(c, ran, m->sm_mhz);
    csv_number_if(c, ran, m->watts);
    csv_list(c, s->suspect, (size_t)s->suspects, "; ");
    csv_end(c);
}

void report_verify_csv(const struct verify_report *r, struct str *out)
{
    struct csv_writer c = {.out = out};
    csv_heads(&c, "gpu,stack,micro_batches,stage,kind,layers,rank,status,predicted_s,measured_s,"
                  "compute_error,predicted_bytes,measured_bytes,memory_error,sm_mhz,watts,"
                  "suspect");
    csv_end(&c);
    for (int i = 0; i < r->stages; i++)
        add_row(&c, r, &r->stage[i]);
}
