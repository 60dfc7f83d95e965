/* The formats of `export`, and what they share of a job. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "model/trained.h"

#include <string.h>

static const struct export_format FORMATS[] = {
    {"megatron", export_megatron_args, false},
    {"torchrun", export_torchrun, false},
    {"slurm", export_slurm, false},
    {"k8s", export_k8s, false},
    {"pytorchjob", export_pytorchjob, false},
    {"skypilot", export_skypilot, false},
    {"bridge", export_bridge, true},
    {"swift", export_swift, true},
    {"flagscale", export_flagscale, false},
    {"accelerate", export_accelerate, true},
};

enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

const struct export_format *export_format_find(const char *name, struct error *err)
{
    const char *names[FORMAT_COUNT];
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(FORMATS[i].name, name) == 0)
            return &FORMATS[i];
        names[i] = FORMATS[i].name;
    }
    fail(err, ERROR_INPUT,
         "'%s' is no format of export: expected megatron, torchrun, slurm, k8s, pytorchjob, "
         "skypilot, "
         "bridge, swift, flagscale or accelerate%s",
         name, did_you_mean(name, names, FORMAT_COUNT));
    return NULL;
}

bool job_says_trained(const struct export_job *j, const struct export_format *f, struct error *err)
{
    bool frozen = f->write != export_swift && !j->model->lora;
    if (model_trains_all(j->model) || (f->trains_parts && !frozen))
        return true;
    return fail(err, ERROR_INPUT,
                j->model->lora ? "%s: Megatron-LM has no adapters (LoRA): use --to bridge "
                                 "(Megatron-Bridge) or --to swift (ms-swift)"
                               : "%s: it cannot freeze part of a model: use --to swift (ms-swift)",
                f->name);
}

bool job_is_even(const struct export_job *j)
{
    return j->parts == 1 && j->part[0].last_node == j->part[0].per_node;
}

bool job_needs_one_type(const struct export_job *j, const char *format, struct error *err)
{
    return j->parts == 1 ||
           fail(err, ERROR_INPUT,
                "%s: all nodes of such a job are alike, the plan is on %s and %s; use --to slurm "
                "or --to torchrun",
                format, j->part[0].gpu->name, j->part[1].gpu->name);
}

bool job_needs_even(const struct export_job *j, const char *format, struct error *err)
{
    return job_is_even(j) ||
           fail(
               err, ERROR_INPUT,
               "%s: all nodes of such a job are alike, of the plan's last one %d GPUs are used and "
               "of the others %d; use --to slurm or --to torchrun",
               format, j->part[0].last_node, j->part[0].per_node);
}

bool job_needs_megatron(const struct export_job *j, const char *format, struct error *err)
{
    return !j->flagscale ||
           fail(err, ERROR_INPUT,
                "%s: the types of GPU run the plan differently, which only FlagScale does; use "
                "--to flagscale, torchrun or slurm",
                format);
}

bool job_needs_no_module(const struct export_job *j, const char *format, struct error *err)
{
    return !j->module ||
           fail(err, ERROR_INPUT,
                "%s: stack torch needs the module " EXPORT_MODULE ", which such a file does not "
                "bring along; use --to torchrun, slurm, k8s, pytorchjob or skypilot, or plan with "
                "--stack te "
                "or local",
                format);
}

void export_hostfile(const struct export_job *j, struct str *out)
{
    size_t node = 0;
    for (int i = 0; i < j->parts; i++)
        for (int64_t n = 0; n < j->part[i].nodes; n++, node++) {
            bool last = n == j->part[i].nodes - 1;
            if (j->hosts)
                str_add(out, j->host[node]);
            else
                str_addf(out, "node-%zu", node);
            str_addf(out, " slots=%d", last ? j->part[i].last_node : j->part[i].per_node);
            if (j->flagscale)
                str_addf(out, " type=%s", j->part[i].type);
            str_add(out, "\n");
        }
}
