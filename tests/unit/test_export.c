/* Scripts and configurations that start a plan: what they quote means itself, what they say is the
 * plan, and YAML has the fields of its format. */
#include "astra.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "export/job.h"
#include "export/shell.h"
#include "import/megatron/overrides.h"
#include "import/shell/launch.h"
#include "query/options.h"
#include "strategy/strategy.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TRIES = 20000, LONGEST = 24 };

static const char *const HOSTILE[] = {
    "",         "'",      "\"",     "\\",      "$(reboot)", "`reboot`",
    "a b",      "a\nb",   "; ls",   "${HOME}", "x' ; y '",  "- a",
    "a: b",     "# c",    "yes",    "null",    "1e3",       "\x01\x1f\x7f",
    "*&!|>%@`", "{a: b}", "[1, 2]", "---",     "a\tb",      "\r\n",
};

static const char *random_text(char out[LONGEST + 1])
{
    static const char some[] = "'\"\\$`(){}[];&|<>*?!#~%:,- \t\n\r=ab01\x01\x7f";
    size_t length = (size_t)rand() % LONGEST;
    for (size_t i = 0; i < length; i++)
        out[i] = some[(size_t)rand() % (sizeof some - 1)];
    out[length] = 0;
    return out;
}

static const char *text_at(int i, char room[LONGEST + 1])
{
    return i < (int)COUNT(HOSTILE) ? HOSTILE[i] : random_text(room);
}

/* What a shell makes of one word of plain characters, '...' and \': false when it is no word. */
static bool shell_reads(const char *text, struct str *out)
{
    bool quoted = false;
    for (; *text; text++) {
        if (*text == '\'')
            quoted = !quoted;
        else if (!quoted && *text == '\\' && text[1])
            str_add_bytes(out, ++text, 1);
        else if (!quoted && strchr("$`\"|&;<>()*?[]#~! \t\n", *text))
            return false;
        else
            str_add_bytes(out, text, 1);
    }
    return !quoted;
}

static void shell_words_mean_themselves(void **state)
{
    (void)state;
    srand(3);
    for (int i = 0; i < TRIES; i++) {
        char room[LONGEST + 1];
        const char *text = text_at(i, room);
        struct str word, back;
        str_init(&word);
        str_init(&back);
        add_shell_word(&word, text);
        assert_true(word.length > 0);
        assert_true(shell_reads(str_text(&word), &back));
        assert_string_equal(str_text(&back), text);
        str_release(&word);
        str_release(&back);
    }
}

static void yaml_strings_mean_themselves(void **state)
{
    (void)state;
    srand(4);
    for (int i = 0; i < TRIES; i++) {
        char room[LONGEST + 1];
        const char *text = text_at(i, room);
        struct arena mem;
        struct error err = {0};
        struct str line;
        arena_init(&mem);
        str_init(&line);
        str_add(&line, "before: 1\nvalue: ");
        add_yaml_string(&line, text);
        str_add(&line, " # comment\nbehind: 2\n");
        const struct yaml *y = yaml_parse(str_text(&line), line.length, "t", &mem, &err);
        if (!y)
            fail_msg("%s: %s", str_text(&line), err.text);
        assert_string_equal(yaml_get(y, "value")->text, text);
        assert_string_equal(yaml_get(y, "behind")->text, "2");
        str_release(&line);
        arena_release(&mem);
    }
}

static void comments_stay_comments(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    add_comment_text(&out, "a\nrm -rf /\r\x01 b\xc3\xa9");
    assert_string_equal(str_text(&out), "a?rm -rf /?? b\xc3\xa9");
    str_release(&out);
}

enum kind { SIZE, VALUE, SWITCH, UNLESS, WORD, WORDS, OWN, NONE };

static const struct {
    int kind;
    const char *flag;
} PARAM_LINES[] =
    {
#define MEGATRON(param, kind, flag, since) {kind, flag},
#include "import/megatron/megatron.def"
},
  FIELD_LINES[] = {
#define MEGATRON_MODEL(field, kind, flag, since) {kind, flag},
#include "import/megatron/megatron.def"
};

static void flags_have_their_section(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(PARAM_LINES); i++)
        if (PARAM_LINES[i].kind != NONE && section_of(PARAM_LINES[i].flag) == SECTION_MODEL)
            fail_msg("%s is of no section", PARAM_LINES[i].flag);
    for (size_t i = 0; i < COUNT(FIELD_LINES); i++)
        assert_int_equal(section_of(FIELD_LINES[i].flag), SECTION_MODEL);
}

/* Plans by their flags; the model is Llama 3 8B. */
static const char *const LLAMA =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention --num-query-groups 8 --vocab-size 128256 --max-position-embeddings "
    "8192 "
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --seq-length 8192 --micro-batch-size 1 "
    "--global-batch-size 64 --attention-dropout 0 --hidden-dropout 0 ";

struct words {
    size_t count;
    const char *word[256];
    char text[4096];
};

static void split(struct words *w, const char *a, const char *b)
{
    snprintf(w->text, sizeof w->text, "%s%s", a, b);
    w->count = 0;
    for (char *at = w->text; *at;) {
        w->word[w->count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = 0;
    }
}

/* The plan of these flags, exported. */
static struct astra *exported(const char *cluster, const char *flags, const char *to)
{
    struct astra *a = astra_new();
    struct words w;
    split(&w, LLAMA, flags);
    assert_int_equal(astra_set(a, "cluster", cluster), ASTRA_OK);
    assert_int_equal(astra_set(a, "to", to), ASTRA_OK);
    if (strcmp(to, "bridge") != 0) /* whose overrides have no name */
        assert_int_equal(astra_set(a, "job-name", "Try_1.b"), ASTRA_OK);
    assert_int_equal(astra_flags(a, w.count, w.word), ASTRA_OK);
    if (astra_export(a) != ASTRA_OK)
        fail_msg("%s", astra_message(a));
    return a;
}

/* By a path of keys, "spec:a:0:b"; a number is the place in a list. */
static const struct yaml *yaml_at(const struct yaml *y, const char *path)
{
    while (y && *path) {
        char key[64];
        size_t length = strcspn(path, ":");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        path += length + (path[length] == ':');
        if (y->kind == YAML_LIST) {
            y = y->item;
            for (int i = atoi(key); y && i > 0; i--)
                y = y->next;
        } else {
            y = y->kind == YAML_MAP ? yaml_get(y, key) : NULL;
        }
    }
    return y;
}

#define WORKER "spec:pytorchReplicaSpecs:Worker:template:spec:"
#define PATCH "spec:runtimePatches:0:trainingRuntimeSpec:template:spec:replicatedJobs:0:"
#define NODE PATCH "template:spec:template:spec:"

static const struct {
    const char *to, *path, *text; /* text NULL: it is there */
} FIELDS[] = {
    {"k8s", "apiVersion", "trainer.kubeflow.org/v1alpha1"},
    {"k8s", "kind", "TrainJob"},
    {"k8s", "metadata:name", "try-1-b"},
    {"k8s", "spec:runtimeRef:name", "torch-distributed"},
    {"k8s", "spec:trainer:numNodes", "2"},
    {"k8s", "spec:trainer:numProcPerNode", "8"},
    {"k8s", "spec:trainer:image", NULL},
    {"k8s", "spec:trainer:command:1", "/astra/train.sh"},
    {"k8s", "spec:trainer:resourcesPerNode:limits:nvidia.com/gpu", "8"},
    {"k8s", "spec:runtimePatches:0:manager", "astra"},
    {"k8s", PATCH "name", "node"},
    {"k8s", NODE "nodeSelector:nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
    {"k8s", NODE "containers:0:name", "node"},
    {"k8s", NODE "containers:0:volumeMounts:1:mountPath", "/astra"},
    {"k8s", NODE "volumes:0:emptyDir:medium", "Memory"},
    {"k8s", NODE "volumes:1:configMap:name", "try-1-b"},
    {"pytorchjob", "apiVersion", "kubeflow.org/v1"},
    {"pytorchjob", "kind", "PyTorchJob"},
    {"pytorchjob", "metadata:name", "try-1-b"},
    {"pytorchjob", "spec:nprocPerNode", "8"},
    {"pytorchjob", "spec:pytorchReplicaSpecs:Master:replicas", "1"},
    {"pytorchjob", "spec:pytorchReplicaSpecs:Master:restartPolicy", "OnFailure"},
    {"pytorchjob", "spec:pytorchReplicaSpecs:Worker:replicas", "1"},
    {"pytorchjob", WORKER "nodeSelector:nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
    {"pytorchjob", WORKER "containers:0:name", "pytorch"},
    {"pytorchjob", WORKER "containers:0:command:1", "/astra/train.sh"},
    {"pytorchjob", WORKER "containers:0:image", NULL},
    {"pytorchjob", WORKER "containers:0:resources:limits:nvidia.com/gpu", "8"},
    {"pytorchjob", WORKER "containers:0:volumeMounts:0:mountPath", "/dev/shm"},
    {"pytorchjob", WORKER "volumes:1:configMap:name", "try-1-b"},
    {"skypilot", "name", "Try_1.b"},
    {"skypilot", "num_nodes", "2"},
    {"skypilot", "resources:accelerators", "H100:8"},
    {"skypilot", "resources:network_tier", "best"},
    {"skypilot", "envs:MEGATRON", NULL},
    {"skypilot", "setup", NULL},
    {"skypilot", "run", NULL},
    {"flagscale", "experiment:exp_name", "Try_1.b"},
    {"flagscale", "experiment:task:backend", "megatron"},
    {"flagscale", "experiment:task:entrypoint", "./flagscale/train/train_gpt.py"},
    {"flagscale", "experiment:runner:hostfile", NULL},
    {"flagscale", "experiment:envs:CUDA_DEVICE_MAX_CONNECTIONS", "1"},
    {"flagscale", "train:system:parallel:tensor_model_parallel_size", "2"},
    {"flagscale", "train:system:parallel:sequence_parallel", "true"},
    {"flagscale", "train:model:architecture:num_layers", "32"},
    {"flagscale", "train:model:batch:global_batch_size", "64"},
    {"flagscale", "train:data", NULL},
    {"flagscale", "action", "run"},
};

static void yaml_has_the_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FIELDS); i++) {
        struct astra *a = exported("2x8:H100",
                                   "--bf16 --tensor-model-parallel-size 2 --sequence-parallel "
                                   "--use-distributed-optimizer",
                                   FIELDS[i].to);
        struct arena mem;
        struct error err = {0};
        const char *text = astra_script(a), *second = strstr(text, "\n---\n");
        text = second ? second + strlen("\n---\n") : text; /* behind the ConfigMap */
        arena_init(&mem);
        const struct yaml *y = yaml_parse(text, strlen(text), FIELDS[i].to, &mem, &err);
        if (!y)
            fail_msg("%s", err.text);
        const struct yaml *found = yaml_at(y, FIELDS[i].path);
        if (!found)
            fail_msg("%s has no %s", FIELDS[i].to, FIELDS[i].path);
        if (FIELDS[i].text)
            assert_string_equal(found->text, FIELDS[i].text);
        arena_release(&mem);
        astra_free(a);
    }
}

/* Sorted, of types that there are, and what Kubernetes takes for the value of a label. */
static void labels_are_of_types(void **state)
{
    static const char *const rows[][2] = {
#define LABEL(gpu, label) {gpu, label},
#include "export/gpu_labels.def"
#undef LABEL
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *label = rows[i][1];
        const struct gpu *gpu = gpu_find(rows[i][0], NULL);
        assert_non_null(gpu);
        assert_string_equal(gpu->name, rows[i][0]);
        assert_true(i == 0 || strcmp(rows[i - 1][0], rows[i][0]) < 0);
        assert_true(strlen(label) <= 63);
        for (const char *c = label; *c; c++)
            assert_true(isalnum((unsigned char)*c) || strchr("-_.", *c));
    }
}

static const char *const BRIDGE_FLAGS[] = {
#define BRIDGE(flag, kind, path) flag,
#include "export/bridge.def"
#undef BRIDGE
};

/* Every switch among the overrides is one that import knows. */
static void bridge_is_read_back(void **state)
{
    static const struct {
        const char *kind, *path;
    } rows[] = {
#define BRIDGE(flag, kind, path) {#kind, path},
#include "export/bridge.def"
#undef BRIDGE
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena mem;
        struct error err = {0};
        struct launch launch;
        bool on = strcmp(rows[i].kind, "ON") == 0;
        if (!on && strcmp(rows[i].kind, "OFF") != 0)
            continue;
        arena_init(&mem);
        const char *text = arena_format(&mem, "%s=%s\n", rows[i].path, on ? "true" : "false");
        if (!overrides_read("bridge", text, strlen(text), &launch, &mem, &err))
            fail_msg("%s", err.text);
        if (launch.count != 1)
            fail_msg("%s gives %d flags", rows[i].path, launch.count);
        arena_release(&mem);
    }
}

static bool bridge_has(const char *flag)
{
    for (size_t i = 0; i < COUNT(BRIDGE_FLAGS); i++)
        if (strcmp(BRIDGE_FLAGS[i], flag) == 0)
            return true;
    return false;
}

/* Every flag has an override, or stands among those that have none. */
static void bridge_loses_nothing(void **state)
{
    struct astra *a =
        exported("2x8:H100",
                 "--bf16 --tensor-model-parallel-size 2 --sequence-parallel "
                 "--use-distributed-optimizer --grad-reduce-in-bf16 "
                 "--recompute-granularity selective --recompute-modules mlp layernorm",
                 "bridge");
    const char *script = astra_script(a);
    (void)state;
    assert_non_null(strstr(script, "    model.tensor_model_parallel_size=2\n"));
    assert_non_null(strstr(script, "    'model.recompute_modules=[layernorm,mlp]'\n"));
    assert_non_null(strstr(script, "    mixed_precision=bf16_mixed\n"));
    assert_non_null(strstr(script, "#   --grad-reduce-in-bf16\n"));
    for (size_t i = 0; i < COUNT(PARAM_LINES); i++) {
        char comment[80];
        snprintf(comment, sizeof comment, "#   %s", PARAM_LINES[i].flag);
        assert_false(bridge_has(PARAM_LINES[i].flag) && strstr(script, comment));
    }
    astra_free(a);
}

static void patterns_are_lists(void **state)
{
    static const char *const pattern[] = {"--moe-layer-freq",        "[0]*3+[1]*2",
                                          "--window-attn-skip-freq", "([1]+[0])*2",
                                          "--window-size",           "127,0"};
    static const struct model whole = {0};
    struct export_job j = {.model = &whole,
                           .title = "t",
                           .name = "n",
                           .release = "r",
                           .branch = "",
                           .parts = 1,
                           .flags = COUNT(pattern),
                           .flag = pattern};
    struct str out;
    (void)state;
    str_init(&out);
    assert_true(export_bridge(&j, &out, NULL));
    assert_non_null(strstr(str_text(&out), "'model.moe_layer_freq=[0,0,0,1,1]'"));
    assert_non_null(strstr(str_text(&out), "'model.window_attn_skip_freq=[1,0,1,0]'"));
    assert_non_null(strstr(str_text(&out), "'model.window_size=[127,0]'"));
    str_release(&out);
}

#define TEN "abcdefghij"
#define FIFTY TEN TEN TEN TEN TEN

/* Whatever ends a line, also the last one or none. */
static void hosts_are_lines(void **state)
{
    static const struct {
        const char *text, *names; /* with a blank behind each, or the message */
    } cases[] = {
        {"a\nb\n", "a b "},
        {"a\nb", "a b "},
        {"a\r\nb\r\n", "a b "},
        {"a\r\nb\r", "a b "},
        {"\r\n#c\r\n\r\na\r\n", "a "},
        {"# c\n10.0.0.3\n\n[::1]\n", "hosts:4: '[::1]' is not a host name"},
        {"a\r\r\n", "hosts:1: 'a\r' is not a host name"},
        {"a b\n", "hosts:1: 'a b' is not a host name"},
        {"-a\n", "hosts:1: '-a' is not a host name"},
        {"a\r\nb\na\n", "hosts: host 'a' is given twice"},
        {"\r\n", "hosts: it names no host"},
        {"", "hosts: it names no host"},
        {FIFTY FIFTY FIFTY FIFTY FIFTY "253\r\n", FIFTY FIFTY FIFTY FIFTY FIFTY "253 "},
        {FIFTY FIFTY FIFTY FIFTY FIFTY "0254\n",
         "hosts:1: '" FIFTY TEN TEN TEN "' is not a host name"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct options o;
        struct arena mem;
        struct error err = {0};
        struct str names = {0};
        arena_init(&mem);
        options_init(&o, &mem);
        bool ok = options_hosts(&o, cases[i].text, strlen(cases[i].text), "hosts", &err);
        for (size_t k = 0; ok && k < o.export.hosts; k++)
            str_addf(&names, "%s ", o.export.host[k]);
        if (ok)
            assert_string_equal(str_text(&names), cases[i].names);
        else if (strncmp(err.text, cases[i].names, strlen(cases[i].names)) != 0)
            fail_msg("'%s', expected '%s'", err.text, cases[i].names);
        str_release(&names);
        arena_release(&mem);
    }
}

/* Names that would be more than a name are refused, whatever the format. */
static void hostile_names_are_refused(void **state)
{
    struct astra *a = astra_new();
    (void)state;
    srand(5);
    for (int i = 0; i < TRIES; i++) {
        char room[LONGEST + 1];
        const char *text = text_at(i, room);
        bool plain = *text && strspn(text, "ab01e3yesnul-=") == strlen(text) && *text != '-' &&
                     !strchr(text, '=');
        assert_int_equal(astra_set(a, "job-name", text), plain ? ASTRA_OK : ASTRA_INPUT);
    }
    astra_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shell_words_mean_themselves),
        cmocka_unit_test(yaml_strings_mean_themselves),
        cmocka_unit_test(comments_stay_comments),
        cmocka_unit_test(flags_have_their_section),
        cmocka_unit_test(yaml_has_the_fields),
        cmocka_unit_test(labels_are_of_types),
        cmocka_unit_test(bridge_loses_nothing),
        cmocka_unit_test(bridge_is_read_back),
        cmocka_unit_test(patterns_are_lists),
        cmocka_unit_test(hosts_are_lines),
        cmocka_unit_test(hostile_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
