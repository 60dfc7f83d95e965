/* A PyTorchJob of Kubeflow's training operator (kubeflow.org/v1). One template serves all workers,
 * so all nodes are alike. The operator tells torchrun nodes, ranks and address through the
 * environment; Kubernetes replaces $(NAME) in arguments, so that no shell is involved. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "export/shell.h"

#include <stdio.h>
#include <string.h>

#define MODULE_FOLDER "/astra"

/* Names of objects are those of hosts: small letters, digits and '-', a letter first, no '-' last,
 * and short enough for the names of the pods. */
static void add_name(const struct export_job *j, struct str *out)
{
    enum { LONGEST = 63 };
    char name[LONGEST + 1];
    int pod = snprintf(NULL, 0, "-worker-%lld", (long long)j->nodes);
    size_t room = LONGEST - (size_t)pod, n = 0;
    for (const char *at = j->name; *at && n < room; at++) {
        char c = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        bool plain = (c >= 'a' && c <= 'z') || (n > 0 && c >= '0' && c <= '9');
        if (plain || n > 0)
            name[n++] = plain ? c : '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    str_add_bytes(out, n ? name : "astra", n ? n : strlen("astra"));
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
    add_env(out, "MEGATRON", "/workspace/Megatron-LM", "folder in the image");
    for (const struct run_row *r = NULL; (r = run_next_variable(r, RUN_ALWAYS));)
        add_env(out, r->variable, r->value, *r->help ? r->help : r->flag);
    add_env(out, "PYTHONPATH", j->module ? "$(MEGATRON):" MODULE_FOLDER : "$(MEGATRON)", "");
    for (size_t i = 0; i < j->envs; i++) {
        const char *equals = strchr(j->env[i], '=');
        str_addf(out, "                - name: %.*s\n                  value: ",
                 (int)(equals - j->env[i]), j->env[i]);
        add_yaml_string(out, equals + 1);
        str_add(out, "\n");
    }
    if (!run_sets_connections(j)) /* nothing unsets what an image has */
        add_env(out, RUN_CONNECTIONS, RUN_CONNECTIONS_DEFAULT, "");
}

static void add_argument(struct str *out, const char *word)
{
    str_add(out, "                - ");
    add_yaml_string(out, word);
    str_add(out, "\n");
}

static void add_run_arguments(int groups, struct str *out)
{
    for (const struct run_row *r = NULL; (r = run_next(r, groups));) {
        add_argument(out, r->flag);
        if (*r->variable)
            str_addf(out, "                - \"$(%s)\"\n", r->variable);
        else if (*r->value)
            add_argument(out, r->value);
    }
}

static void add_arguments(const struct export_job *j, struct str *out)
{
    str_add(out, "              command: [\"torchrun\"]\n              args:\n");
    add_argument(out, "$(MEGATRON)/pretrain_gpt.py");
    for (int s = 0; s < SECTION_COUNT; s++)
        for (size_t i = 0, end; i < j->flags; i = end) {
            end = flag_end(j->flag, j->flags, i);
            for (size_t k = i; k < end && section_of(j->flag[i]) == (enum section)s; k++)
                add_argument(out, j->flag[k]);
        }
    add_run_arguments(RUN_ALWAYS, out);
    str_add(out,
            "                # set: --data-path, --tokenizer-type, --tokenizer-model, --save and "
            "--load;\n                # until then the data is made up, for timing\n");
    add_run_arguments(RUN_MOCK, out);
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
             "              image: \"" RUN_IMAGE "\" # %s\n",
             role, (long long)count, resource, *resource == 'a' ? "-name" : "", p->gpu->name,
             run_image_needs(j));
    add_environment(j, out);
    add_arguments(j, out);
    str_addf(out,
             "              resources:\n                limits:\n                  %s: %d\n"
             "              volumeMounts:\n                - name: shm\n"
             "                  mountPath: /dev/shm\n",
             resource, p->per_node);
    str_add(out, j->module ? "                - name: module\n"
                             "                  mountPath: " MODULE_FOLDER "\n"
                           : "");
    str_add(out, "          volumes:\n            - name: shm\n              emptyDir:\n"
                 "                medium: Memory\n");
    if (j->module) {
        str_add(out,
                "            - name: module\n              configMap:\n                name: ");
        add_name(j, out);
        str_add(out, "\n");
    }
}

/* A document of its own, which the pods mount. */
static void add_module(const struct export_job *j, struct str *out)
{
    if (!j->module)
        return;
    str_add(out, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ");
    add_name(j, out);
    str_add(out, "\ndata: # what --spec names: attention, norms and AdamW that the plan counts on\n"
                 "  " EXPORT_MODULE ".py: |\n");
    add_indented(out, export_module(), "    ");
    str_add(out, "---\n");
}

bool export_k8s(const struct export_job *j, struct str *out, struct error *err)
{
    if (!job_needs_one_type(j, "k8s", err) || !job_needs_even(j, "k8s", err))
        return false;
    add_bash_about(j, out);
    str_add(out, "# Lines with \"# set\" are yours to set.\n");
    add_module(j, out);
    str_add(out, "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: ");
    add_name(j, out);
    str_addf(out, "\nspec:\n  nprocPerNode: \"%d\"\n  pytorchReplicaSpecs:\n", j->part[0].per_node);
    add_replicas(j, "Master", 1, out);
    if (j->nodes > 1)
        add_replicas(j, "Worker", j->nodes - 1, out);
    return true;
}
