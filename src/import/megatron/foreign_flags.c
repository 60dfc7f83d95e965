/* What is known of flags that are not in Megatron's table. Of those that are in no table at all the name is read: its
 * words say whether it could change the model, the memory or the time. */
#include "import/megatron/foreign_flags.h"

#include "base/str.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct foreign_flag FOREIGN_FLAGS[] = {
#define FOREIGN(name, value, treatment, text) {name, value, treatment, text},
#include "import/megatron/foreign_flags.def"
#undef FOREIGN
};

enum { FOREIGN_COUNT = sizeof FOREIGN_FLAGS / sizeof *FOREIGN_FLAGS };

/* The first row of a flag; NULL = there is none. */
static const struct foreign_flag *first_row(const char *name)
{
    int lo = 0, hi = FOREIGN_COUNT;
    while (lo < hi) {
        int middle = (lo + hi) / 2;
        if (strcmp(FOREIGN_FLAGS[middle].name, name) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < FOREIGN_COUNT && strcmp(FOREIGN_FLAGS[lo].name, name) == 0 ? &FOREIGN_FLAGS[lo]
                                                                           : NULL;
}

bool foreign_knows(const char *name)
{
    return first_row(name) != NULL;
}

static const struct foreign_flag *row_from(const struct foreign_flag *from, const char *name,
                                           const char *value)
{
    const struct foreign_flag *end = FOREIGN_FLAGS + FOREIGN_COUNT;
    for (const struct foreign_flag *f = from; f && f < end && strcmp(f->name, name) == 0; f++)
        if (strcmp(f->value, value) == 0)
            return f;
    return NULL;
}

const struct foreign_flag *foreign_next(const char *name, const char *value,
                                        const struct foreign_flag *after)
{
    const struct foreign_flag *first = first_row(name);
    const char *wanted = value && row_from(first, name, value) ? value : "";
    return row_from(after ? after + 1 : first, name, wanted);
}

const char FOREIGN_PART[] = "a vision or audio model";

/* Words of names, by what they speak of; the first line that has one of a name's words counts. */
static const struct {
    const char *words, *changes;
} SPEAKS[] = {
    {"vision visual vit image images img video videos sound audio pixel tiling tiles thumbnail "
     "aligner mm radio",
     FOREIGN_PART},
    {"path paths dir file files folder log logging logger tensorboard wandb save saving load data "
     "dataset datasets "
     "tokenizer tokenizers prompt seed port timeout eval evaluation valid validation lr warmup "
     "decay print debug "
     "monitor codecarbon template rollout sglang vllm reward convert hf ckpt deepspeed theta "
     "mscale",
     NULL},
    {"recompute offload offloading swap swapping zero memory mem checkpoint checkpointing "
     "optimizer precision fp8 fp16 "
     "bf16 quant quantize int8 shard sharded sharding fsdp lora adapter freeze frozen",
     "memory and time"},
    {"attention attn head heads layer layers hidden expert experts moe mlp ffn vocab embedding "
     "embed embeds norm "
     "layernorm mtp mla gqa window gate gated router mamba ssm linear shared kv qk glu "
     "intermediate",
     "the model's shape"},
    {"parallel pipeline cp tp pp ep dp sequence schedule schedules vpp stages batch",
     "how the work is split"},
    {"overlap fused fuse fusion comm communication async kernel flash triton graph graphs stream "
     "alltoall",
     "the time"},
    {"name test profile profiling kill exit url host token tokens epoch epochs iters iteration "
     "split impl handler pad "
     "padding truncate temperature verbose workers worker format dropout init std epsilon eps "
     "coeff loss beta betas "
     "rope rotary stage deterministic nan reset language task instruction chat "
     "label labels mask ref "
     "actor critic advantage grpo ppo kl gamma lambd clip samples sample response input apply "
     "interval fp32 shape",
     NULL},
};

static bool has_word(const char *name, const char *words)
{
    char part[64];
    for (const char *p = name; *p;) {
        size_t n = 0;
        while (*p == '-' || *p == '_')
            p++;
        for (; *p && *p != '-' && *p != '_'; p++)
            if (n + 1 < sizeof part)
                part[n++] = (char)tolower((unsigned char)*p);
        part[n] = 0;
        if (n > 0 && is_one_of(part, words))
            return true;
    }
    return false;
}

const char *foreign_may_change(const char *name)
{
    for (size_t i = 0; i < sizeof SPEAKS / sizeof *SPEAKS; i++)
        if (has_word(name, SPEAKS[i].words))
            return SPEAKS[i].changes;
    return "anything";
}

/* By the beginning of a part of the name. */
static const struct {
    const char *part, *why;
    bool plans; /* the figure is given, with this note */
} PROGRAMS[] = {
    {"bert", "BERT is an encoder, and only decoders are planned", false},
    {"t5", "T5 is an encoder and a decoder, and only decoders are planned", false},
    {"ict", "a retriever (ICT) is no decoder, and only decoders are planned", false},
    {"retro", "a decoder that retrieves (Retro) is not planned", false},
    {"realm", "a retriever (REALM) is no decoder, and only decoders are planned", false},
    {"mamba", "hybrid (Mamba) models are not planned", false},
    {"hybrid", "hybrid (Mamba) models are not planned", false},
    {"zebra", "hybrid (Mamba) models are not planned", false},
    {"rwkv", "a recurrent model (RWKV) is not planned", false},
    {"flux", "a diffusion model is no decoder, and only decoders are planned", false},
    {"wan", "a diffusion model is no decoder, and only decoders are planned", false},
    {"diffusion", "a diffusion model is no decoder, and only decoders are planned", false},
    {"pi0", "a model of robots is no decoder, and only decoders are planned", false},
    {"robotics", "a model of robots is no decoder, and only decoders are planned", false},
    {"vision", "a vision model is no decoder, and only decoders are planned", false},
    {"convert", "it converts a checkpoint and trains nothing", false},
    {"checkpoint", "it converts a checkpoint and trains nothing", false},
    {"export", "it converts a checkpoint and trains nothing", false},
    {"preprocess", "it prepares data and trains nothing", false},
    {"analyze", "it prepares data and trains nothing", false},
    {"merge", "it converts a checkpoint and trains nothing", false},
    {"evaluate", "it evaluates a model and trains nothing", false},
    {"eval", "it evaluates a model and trains nothing", false},
    {"prepare", "it prepares data and trains nothing", false},
    {"evaluation", "it evaluates a model and trains nothing", false},
    {"mmlu", "it evaluates a model and trains nothing", false},
    {"validate", "it evaluates a model and trains nothing", false},
    {"quantize", "it compresses a model and trains nothing", false},
    {"prune", "it compresses a model and trains nothing", false},
    {"extract", "it prepares data and trains nothing", false},
    {"megatron_mimo",
     "a model of several kinds of data is no decoder, and only decoders are planned", false},
    {"inference", "it generates text and trains nothing", false},
    {"generate", "it generates text and trains nothing", false},
    {"generation", "it generates text and trains nothing", false},
    {"vlm", "a vision-language model: only its decoder is planned, the vision model is left out",
     true},
    {"multimodal",
     "a vision-language model: only its decoder is planned, the vision model is left out", true},
    {"prefix_lm", "a prefix language model: its attention is planned causal, also over the prefix",
     true},
    {"llava", "a vision-language model: only its decoder is planned, the vision model is left out",
     true},
};

static bool has_part(const char *program, const char *part)
{
    size_t n = strlen(part);
    for (const char *p = program; (p = strstr(p, part)); p++)
        if ((p == program || !isalnum((unsigned char)p[-1])) && !isalpha((unsigned char)p[n]))
            return true;
    return false;
}

const char *foreign_program(const char *program, const char **note)
{
    *note = NULL;
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++)
        if (has_part(program, PROGRAMS[i].part)) {
            if (!PROGRAMS[i].plans)
                return PROGRAMS[i].why;
            *note = PROGRAMS[i].why;
        }
    return NULL;
}
