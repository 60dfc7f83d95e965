/* Jobs of Kubernetes: a TrainJob of Kubeflow Trainer (trainer.kubeflow.org/v1alpha1, 2.2 and newer)
 * and the PyTorchJob of the training operator before it (kubeflow.org/v1). All nodes are alike.
 * What is started is a script in a ConfigMap, which both mount: what is the user's to set stands
 * there alone, at its top. Trainer and operator tell torchrun nodes, ranks and address through the
 * environment. */
#include "export/job.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "export/shell.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "/astra"
#define SCRIPT "train.sh"

/* Names of objects are those of hosts: small letters, digits and '-', a letter first, no '-' last,
 * and short enough for the names of the pods. */
static void add_name(const struct export_job *j, struct str *out)
{
    enum { LONGEST = 63 };
    char name[LONGEST + 1];
    int pod = snprintf(NULL, 0, "-node-0-%lld-abcde", (long long)j->nodes);
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

static void add_line(struct str *out, int indent, const char *text)
{
    str_addf(out, "%*s%s\n", indent, "", text);
}

static void add_script(const struct export_job *j, struct str *out)
{
    struct str run = {0};
    str_add(&run, "#!/bin/bash\nset -euo pipefail\n\n");
    add_bash_variables(j, "/workspace/Megatron-LM", &run);
    str_add(&run, "\n");
    add_bash_settings(j, &run);
    add_bash_module(j, &run);
    str_add(&run, j->module ? "astra_module\n" : "");
    str_add(&run, "exec torchrun \"$TRAIN\" \\\n    ");
    add_bash_words(j, &run);
    str_add(&run, "\n");
    add_indented(out, str_text(&run), "    ");
    str_release(&run);
}

/* A document of its own, which the pods mount. */
static void add_config_map(const struct export_job *j, struct str *out)
{
    str_add(out, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ");
    add_name(j, out);
    str_add(out, "\ndata:\n  " SCRIPT ": |\n");
    add_script(j, out);
    str_add(out, "---\n");
}

/* As the vendor's own labels name the type. */
static const char *label_of(const struct gpu *gpu)
{
    static const struct {
        const char *gpu, *label;
    } labels[] = {
#define LABEL(gpu, label) {gpu, label},
#include "export/gpu_labels.def"
#undef LABEL
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strcmp(labels[i].gpu, gpu->name) == 0)
            return labels[i].label;
    return gpu->name;
}

static const char *resource_of(const struct gpu *gpu)
{
    return strcmp(gpu->vendor, "AMD") == 0 ? "amd.com/gpu" : "nvidia.com/gpu";
}

static void add_selector(const struct export_job *j, int indent, struct str *out)
{
    const struct gpu *gpu = j->part[0].gpu;
    const char *resource = resource_of(gpu), *suffix = *resource == 'a' ? "-name" : "";
    add_line(out, indent, "nodeSelector:");
    str_addf(out, "%*s%s.product%s: \"%s\" # set: kubectl get nodes -L %s.product%s\n", indent + 2,
             "", resource, suffix, label_of(gpu), resource, suffix);
}

static void add_resources(const struct export_job *j, const char *key, int indent, struct str *out)
{
    str_addf(out, "%*s%s:\n", indent, "", key);
    add_line(out, indent + 2, "limits:");
    str_addf(out, "%*s%s: %d\n", indent + 4, "", resource_of(j->part[0].gpu), j->part[0].per_node);
}

static void add_mounts(int indent, struct str *out)
{
    add_line(out, indent, "volumeMounts:");
    add_line(out, indent, "  - name: shm");
    add_line(out, indent, "    mountPath: /dev/shm");
    add_line(out, indent, "  - name: astra");
    add_line(out, indent, "    mountPath: " FOLDER);
    add_line(out, indent,
             "  # - name: data # set: where DATA_PATH, TOKENIZER_MODEL, CHECKPOINT lie");
    add_line(out, indent, "  #   mountPath: /data");
}

static void add_volumes(const struct export_job *j, int indent, struct str *out)
{
    add_line(out, indent, "volumes:");
    add_line(out, indent, "  - name: shm");
    add_line(out, indent, "    emptyDir:");
    add_line(out, indent, "      medium: Memory");
    add_line(out, indent, "  - name: astra");
    add_line(out, indent, "    configMap:");
    str_addf(out, "%*sname: ", indent + 6, "");
    add_name(j, out);
    str_add(out, "\n");
    add_line(out, indent, "  # - name: data");
    add_line(out, indent, "  #   persistentVolumeClaim:");
    add_line(out, indent, "  #     claimName: CLAIM");
}

static void add_image(const struct export_job *j, int indent, struct str *out)
{
    str_addf(out, "%*simage: \"" RUN_IMAGE "\" # %s\n", indent, "", run_image_needs(j));
    add_line(out, indent, "command: [\"bash\", \"" FOLDER "/" SCRIPT "\"]");
}

static bool add_head(const struct export_job *j, const char *format, const char *kind,
                     struct str *out, struct error *err)
{
    if (!job_needs_one_type(j, format, err) || !job_needs_even(j, format, err))
        return false;
    add_bash_about(j, out);
    str_add(out, "# Set what stands at the top of " SCRIPT ", and lines with \"# set\".\n");
    add_config_map(j, out);
    str_addf(out, "%s\nmetadata:\n  name: ", kind);
    add_name(j, out);
    str_add(out, "\nspec:\n");
    return true;
}

/* What the runtime has no field for in the job itself: where its pods run, and what they mount. */
static void add_patches(const struct export_job *j, struct str *out)
{
    static const char *const path[] = {
        "trainingRuntimeSpec:", "template:", "spec:", "replicatedJobs:"};
    int indent = 6;
    add_line(out, 2, "runtimePatches:");
    add_line(out, 4, "- manager: astra");
    for (size_t i = 0; i < sizeof path / sizeof *path; i++, indent += 2)
        add_line(out, indent, path[i]);
    add_line(out, indent, "- name: node");
    for (int i = 0; i < 4; i++)
        add_line(out, indent + 2 + 2 * i, i % 2 ? "spec:" : "template:");
    indent += 10;
    add_selector(j, indent, out);
    add_line(out, indent, "containers:");
    add_line(out, indent, "  - name: node");
    add_mounts(indent + 4, out);
    add_volumes(j, indent, out);
}

bool export_k8s(const struct export_job *j, struct str *out, struct error *err)
{
    if (!add_head(j, "k8s", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob", out, err))
        return false;
    add_line(out, 2, "runtimeRef:");
    add_line(out, 2, "  name: torch-distributed # of Kubeflow Trainer");
    add_line(out, 2, "trainer:");
    str_addf(out, "    numNodes: %lld\n    numProcPerNode: %d\n", (long long)j->nodes,
             j->part[0].per_node);
    add_image(j, 4, out);
    add_resources(j, "resourcesPerNode", 4, out);
    add_patches(j, out);
    return true;
}

static void add_replicas(const struct export_job *j, const char *role, int64_t count,
                         struct str *out)
{
    str_addf(out,
             "    %s:\n      replicas: %lld\n      restartPolicy: OnFailure\n      template:\n"
             "        spec:\n",
             role, (long long)count);
    add_selector(j, 10, out);
    add_line(out, 10, "containers:");
    add_line(out, 10, "  - name: pytorch");
    add_image(j, 14, out);
    add_resources(j, "resources", 14, out);
    add_mounts(14, out);
    add_volumes(j, 10, out);
}

bool export_pytorchjob(const struct export_job *j, struct str *out, struct error *err)
{
    if (!add_head(j, "pytorchjob", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob", out, err))
        return false;
    str_addf(out, "  nprocPerNode: \"%d\"\n  pytorchReplicaSpecs:\n", j->part[0].per_node);
    add_replicas(j, "Master", 1, out);
    if (j->nodes > 1)
        add_replicas(j, "Worker", j->nodes - 1, out);
    return true;
}
