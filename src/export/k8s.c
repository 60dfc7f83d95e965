/* A PyTorchJob of Kubeflow's training operator (kubeflow.org/v1). One template serves all workers,
 * so all nodes are alike. The operator tells torchrun nodes, ranks and address through the
 * environment; Kubernetes replaces $(NAME) in arguments, so that no shell is involved. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/bash.h"
#include "export/sections.h"
#include "export/yaml_out.h"

#include <string.h>

/* What the user sets, with what stands there until then. */
static const struct {
    const char *name, *value, *help;
} VARIABLES[] = {
    {"MEGATRON", "/workspace/Megatron-LM", "folder in the image"},
    {"TRAIN_ITERS", "50", "steps of the run"},
    {"WARMUP_ITERS", "0", "steps"},
    {"LR", "1.0e-4", "learning rate"},
    {"MIN_LR", "1.0e-5", "at the end"},
};

/* Names of objects are those of hosts: small letters, digits and '-', a letter first. */
static void add_name(const char *name, struct str *out)
{
    bool begun = false;
    for (; *name; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        bool plain = (c >= 'a' && c <= 'z') || (begun && c >= '0' && c <= '9');
        if (plain)
            str_add_bytes(out, &c, 1);
        else if (begun && name[1])
            str_add(out, "-");
        begun = begun || plain;
    }
    str_add(out, begun ? "" : "astra");
}

static void add_env(struct str *out, const char *name, const char *value, const char *help)
{
    str_addf(out, "                - name: %s\n                  value: ", name);
    add_yaml_string(out, value);
    str_addf(out, "%s%s\n", *help ? " # set: " : "", help);
}

static void add_environment(const struct export_job *j, struct str *out)
{
    str_add(out, "              env:\n");
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        add_env(out, VARIABLES[i].name, VARIABLES[i].value, VARIABLES[i].help);
    add_env(out, "PYTHONPATH", "$(MEGATRON)", "");
    for (size_t i = 0; i < j->envs; i++) {
        const char *equals = strchr(j->env[i], '=');
        str_addf(out, "                - name: %.*s\n                  value: ",
                 (int)(equals - j->env[i]), j->env[i]);
        add_yaml_string(out, equals + 1);
        str_add(out, "\n");
    }
}

static void add_argument(struct str *out, const char *word)
{
    str_add(out, "                - ");
    add_yaml_string(out, word);
    str_add(out, "\n");
}

static void add_arguments(const struct export_job *j, struct str *out)
{
    static const char *const run[] = {"--train-iters",
                                      "$(TRAIN_ITERS)",
                                      "--lr",
                                      "$(LR)",
                                      "--min-lr",
                                      "$(MIN_LR)",
                                      "--lr-decay-style",
                                      "cosine",
                                      "--lr-warmup-iters",
                                      "$(WARMUP_ITERS)",
                                      "--log-interval",
                                      "1",
                                      "--log-throughput"};
    static const char *const data[] = {
        "--mock-data", "--tokenizer-type", "NullTokenizer", "--eval-iters",
        "0",           "--eval-interval",  "1000"};
    str_add(out, "              command: [\"torchrun\"]\n              args:\n");
    add_argument(out, "$(MEGATRON)/pretrain_gpt.py");
    for (int s = 0; s < SECTIONS; s++)
        for (size_t i = 0, end; i < j->flags; i = end) {
            end = flag_end(j->flag, j->flags, i);
            for (size_t k = i; k < end && section_of(j->flag[i]) == (enum section)s; k++)
                add_argument(out, j->flag[k]);
        }
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        add_argument(out, run[i]);
    str_add(out,
            "                # set: --data-path, --tokenizer-type, --tokenizer-model, --save and "
            "--load;\n                # until then the data is made up, for timing\n");
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        add_argument(out, data[i]);
}

static void add_replicas(const struct export_job *j, const char *role, int64_t count,
                         struct str *out)
{
    const struct job_part *p = &j->part[0];
    const char *resource = strcmp(p->gpu->vendor, "AMD") == 0 ? "amd.com/gpu" : "nvidia.com/gpu";
    str_addf(out,
             "    %s:\n      replicas: %lld\n      restartPolicy: OnFailure\n      template:\n"
             "        spec:\n          nodeSelector:\n"
             "            %s.product%s: \"%s\" # set: as your nodes are labelled\n"
             "          containers:\n            - name: pytorch\n"
             "              image: \"nvcr.io/nvidia/pytorch:25.09-py3\" # set\n",
             role, (long long)count, resource, *resource == 'a' ? "-name" : "", p->gpu->name);
    add_environment(j, out);
    add_arguments(j, out);
    str_addf(out,
             "              resources:\n                limits:\n                  %s: %d\n"
             "              volumeMounts:\n                - name: shm\n"
             "                  mountPath: /dev/shm\n"
             "          volumes:\n            - name: shm\n              emptyDir:\n"
             "                medium: Memory\n",
             resource, p->per_node);
}

bool export_k8s(const struct export_job *j, struct arena *mem, struct str *out, struct error *err)
{
    (void)mem;
    if (!job_needs_one_type(j, "k8s", err) || !job_needs_even(j, "k8s", err))
        return false;
    add_bash_about(j, out);
    str_add(out, "# Lines with \"# set\" are yours to set.\n"
                 "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: ");
    add_name(j->name, out);
    str_addf(out, "\nspec:\n  nprocPerNode: \"%d\"\n  pytorchReplicaSpecs:\n", j->part[0].per_node);
    add_replicas(j, "Master", 1, out);
    if (j->nodes > 1)
        add_replicas(j, "Worker", j->nodes - 1, out);
    return true;
}
