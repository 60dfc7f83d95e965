/* A plan as overrides for Megatron-Bridge, in the syntax of Hydra: bridge.def has the pairs. */
#include "export/job.h"

#include "base/str.h"
#include "export/shell.h"
#include "model/trained.h"

#include <stdlib.h>
#include <string.h>

enum bridge_kind { VALUE, LIST, ON, OFF, SET, OWN, SKIP };

static const struct pair {
    const char *flag;
    enum bridge_kind kind;
    const char *path;
} PAIRS[] = {
#define BRIDGE(flag, kind, path) {flag, kind, path},
#include "export/bridge.def"
#undef BRIDGE
};

static const struct pair *pair_of(const char *flag)
{
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
        if (strcmp(PAIRS[i].flag, flag) == 0)
            return &PAIRS[i];
    return NULL;
}

/* Hydra reads words and numbers as they stand, other texts in quotes. */
static void add_value(const char *word, struct str *out)
{
    size_t plain =
        strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");
    str_addf(out, word[plain] ? "\"%s\"" : "%s", word);
}

static void add_line(struct str *line, struct str *out)
{
    str_add(out, "    ");
    add_shell_word(out, str_text(line));
    str_add(out, "\n");
    str_clear(line);
}

/* "[0]*3+[1]*2" and "([1]+[0])*2", as megatron_model.c writes them: [0,0,0,1,1] and [1,0,1,0]. */
static void add_pattern(const char *text, struct str *out)
{
    const char *close = strchr(text, ')');
    long rounds = close ? strtol(close + 2, NULL, 10) : 1;
    const char *between = "";
    str_add(out, "[");
    for (long r = 0; r < rounds; r++)
        for (const char *at = strchr(text, '['); at; at = strchr(at + 1, '[')) {
            long times = at[3] == '*' ? strtol(at + 4, NULL, 10) : 1;
            for (long i = 0; i < times; i++, between = ",")
                str_addf(out, "%s%c", between, at[1]);
        }
    str_add(out, "]");
}

static bool has_flag(const struct export_job *j, const char *flag)
{
    for (size_t i = 0; i < j->flags; i++)
        if (strcmp(j->flag[i], flag) == 0)
            return true;
    return false;
}

/* Bridge names a whole set of formats. */
static const char *precision_of(const struct export_job *j)
{
    if (has_flag(j, "--fp4-format"))
        return "bf16_with_nvfp4_mixed";
    if (has_flag(j, "blockwise"))
        return "bf16_with_fp8_subchannel_scaling_mixed";
    if (!has_flag(j, "--fp8-format"))
        return has_flag(j, "--fp16") ? "fp16_mixed" : "bf16_mixed";
    if (has_flag(j, "mxfp8"))
        return "bf16_with_mxfp8_mixed";
    return has_flag(j, "--fp8-recipe") ? "bf16_with_fp8_current_scaling_mixed"
                                       : "bf16_with_fp8_delayed_scaling_mixed";
}

static const char *value_of(const struct export_job *j, const char *flag)
{
    for (size_t i = 0; i + 1 < j->flags; i++)
        if (strcmp(j->flag[i], flag) == 0)
            return j->flag[i + 1];
    return "";
}

/* Under multi-latent attention the settings of YaRN have names of their own. */
static bool is_yarn(const struct pair *p)
{
    static const char names[] = "rotary_scaling_factor mscale mscale_all_dim";
    return is_one_of(p->path, names);
}

static void add_own(const struct export_job *j, const struct pair *p, const char *value,
                    struct str *line, struct str *out)
{
    if (is_yarn(p)) {
        bool latent = has_flag(j, "--multi-latent-attention");
        str_addf(line, "model.%s%s=%s", latent ? "" : "yarn_", p->path, value);
    } else if (strcmp(p->path, "mixed_precision") == 0) {
        str_addf(line, "mixed_precision=%s", precision_of(j));
    } else if (strcmp(p->flag, "--seq-length") == 0) {
        str_addf(line, "dataset.seq_length=%s", value);
        add_line(line, out);
        if (j->packed) {
            str_addf(line, "dataset.offline_packing_specs.packed_sequence_size=%s", value);
            add_line(line, out);
        }
        str_addf(line, "%s=%s", p->path, value);
    } else if (strcmp(p->flag, "--num-layers-per-virtual-pipeline-stage") == 0) {
        str_addf(line, "%s=%d", p->path, j->vpp);
    } else {
        str_addf(line, "%s=", p->path);
        if (strcmp(p->flag, "--window-size") == 0)
            str_addf(line, "[%s]", value);
        else if (strchr(value, '['))
            add_pattern(value, line);
        else
            str_add(line, value);
    }
    add_line(line, out);
}

static void add_list(const char *path, const char *const *words, size_t count, struct str *line)
{
    str_addf(line, "%s=[", path);
    for (size_t i = 0; i < count; i++)
        str_addf(line, "%s%s", i ? "," : "", words[i]);
    str_add(line, "]");
}

/* "a=1 b=2": one each. */
static void add_set(const char *text, struct str *line, struct str *out)
{
    while (*text) {
        size_t length = strcspn(text, " ");
        str_add_bytes(line, text, length);
        add_line(line, out);
        text += length + (text[length] == ' ');
    }
}

static void add_override(const struct export_job *j, const struct pair *p, const char *const *words,
                         size_t count, struct str *out)
{
    struct str line = {0};
    if (p->kind == OWN && !*p->path) {
        return; /* what it says is in seq_length, or is lost */
    } else if (p->kind == OWN) {
        add_own(j, p, count > 1 ? words[1] : "", &line, out);
    } else if (p->kind == SET) {
        add_set(p->path, &line, out);
    } else if (p->kind == LIST) {
        add_list(p->path, words + 1, count - 1, &line);
        add_line(&line, out);
    } else if (p->kind != SKIP) {
        str_addf(&line, "%s=", p->path);
        if (p->kind == VALUE)
            add_value(words[1], &line);
        else
            str_add(&line, p->kind == ON ? "true" : "false");
        add_line(&line, out);
    }
    str_release(&line);
}

/* Bridge has one length: learned positions end where the sequence does. */
static bool is_lost(const struct export_job *j, const struct pair *p)
{
    return !p || (!*p->path && p->kind == OWN && has_flag(j, "learned_absolute") &&
                  strcmp(value_of(j, p->flag), value_of(j, "--seq-length")) != 0);
}

/* Flags that Bridge cannot be told this way: `lost` says them all. */
static void add_section(const struct export_job *j, enum section section, struct str *out,
                        struct str *lost)
{
    for (size_t i = 0, end; i < j->flags; i = end) {
        const struct pair *p = pair_of(j->flag[i]);
        end = flag_end(j->flag, j->flags, i);
        if (section_of(j->flag[i]) != section)
            continue;
        bool gone = is_lost(j, p);
        if (!gone)
            add_override(j, p, j->flag + i, end - i, out);
        for (size_t k = i; gone && k < end; k++)
            str_addf(lost, "%s%s", k > i ? " " : "#   ", j->flag[k]);
        str_add(lost, gone ? "\n" : "");
    }
}

/* A recipe's own settings of overlap would replace those of model and ddp (CommOverlapConfig.setup); without
 * them virtual stages send as the flags mean only if they are told. */
static void add_overlap(const struct export_job *j, struct str *out)
{
    str_add(out, "    comm_overlap=null\n");
    if (j->vpp > 1 && !has_flag(j, "--no-overlap-p2p-communication"))
        str_add(out, "    model.overlap_p2p_comm=true\n    model.batch_p2p_comm=false\n");
}

/* Of a recipe with adapters, which has a LoRA of its own. */
static bool add_adapters(const struct export_job *j, struct str *out, struct error *err)
{
    const struct model *m = j->model;
    const char *between = "";
    if (!m->lora)
        return true;
    if (m->frozen_bits)
        return fail(err, ERROR_INPUT,
                    "bridge: Megatron-Bridge trains beside no 4-bit weights: plan with bits=16");
    if (m->lora_whole)
        return fail(err, ERROR_INPUT,
                    "bridge: the plan lays adapters out as ms-swift does; plan with --train "
                    "...,framework=bridge, or use --to swift");
    str_addf(out,
             "    peft.dim=%d\n    peft.alpha=%d\n    peft.dropout=%s\n    'peft.target_modules=[",
             m->lora, 2 * m->lora, m->lora_dropout ? "0.05" : "0.0");
    for (int i = 0; i < TARGETS; i++)
        if (model_adapts(m, (enum lora_target)i)) {
            str_addf(out, "%s%s", between, model_target_name((enum lora_target)i));
            between = ",";
        }
    str_add(out, "]'\n");
    if (m->experts)
        str_addf(out, "    peft.share_expert_adapters=%s\n", m->lora_each ? "false" : "true");
    return true;
}

bool export_bridge(const struct export_job *j, struct str *out, struct error *err)
{
    struct str lost = {0};
    if (!job_needs_megatron(j, "bridge", err) || !job_needs_no_module(j, "bridge", err))
        return false;
    str_add(out, "# shellcheck shell=bash\n# shellcheck disable=SC2034\n");
    add_bash_about(j, out);
    str_add(out,
            "# Overrides of Megatron-Bridge 0.7, to be sourced; behind a recipe or a script of "
            "yours:\n#   scripts/training/run_recipe.py --recipe NAME ");
    str_add(out, j->model->lora ? "--mode lora " : "");
    str_add(out, "\"${OVERRIDES[@]}\"\n");
    str_add(out, j->model->lora ? "# NAME is a recipe with adapters: ..._peft_config\n" : "");
    str_add(out, "OVERRIDES=(\n");
    if (!add_adapters(j, out, err))
        return false;
    for (int s = 0; s < SECTION_COUNT; s++)
        add_section(j, (enum section)s, out, &lost);
    add_overlap(j, out);
    str_add(out, ")\n");
    if (lost.length)
        str_addf(out, "# Flags that have no override; set them in the script:\n%s",
                 str_text(&lost));
    add_bash_environment(j, out);
    str_release(&lost);
    return true;
}
