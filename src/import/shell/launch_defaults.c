/* What wrappers of Megatron set by themselves: the table of defaults, and numbers of a training that follow from those
 * of reinforcement learning, of pairs, or of images. */
#include "import/shell/launch_translation.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/primus_model.h"
#include "import/megatron/slime.h"
#include "import/megatron/words.h"

#include <string.h>

static const struct {
    const char *program, *flag, *otherwise, *words;
} DEFAULTS[] = {
#define DEFAULT(program, flag, otherwise, words) {program, flag, otherwise, words},
#include "import/shell/dialect_defaults.def"
#undef DEFAULT
};

static const char *const PRIMUS[] = {
#define TRAINER(framework, config, switches, numbers) switches,
#include "import/megatron/primus_trainers.def"
#undef TRAINER
};

/* The model of an experiment that is named: what the script mentions, switched off or not, is the script's. */
static void add_primus_model(struct translation *t, struct launch *l)
{
    struct dest_list list;
    size_t n = l->model ? strlen(l->model) : 0;
    dest_list_init(&list, DEST_LOG, t->mem);
    if (n < 6 || !primus_model_add(&list, arena_copy(t->mem, l->model, n - 5), l->line))
        return;
    for (int i = 0, values; i < list.count; i += 1 + values) {
        const char *flag = list.word[i].text;
        bool said = launch_mentions(l, flag);
        for (values = 0;
             i + values + 1 < list.count && !words_is_flag(list.word[i + values + 1].text);)
            values++;
        for (int k = 0; k <= values && !said; k++)
            translation_first(t, list.word[i + k].text, l->line);
    }
    launch_note(l, primus_model_note(l->model, t->mem));
    l->model = NULL;
}

/* Of a trainer of Primus: its settings of numbers stand in a file that is not read. */
static void add_primus(struct translation *t, struct launch *l)
{
    char word[64];
    if (!l->program || strcmp(l->program, "primus") != 0)
        return;
    for (const char *at = PRIMUS[0]; next_word(&at, word, sizeof word);)
        if (!launch_mentions(l, word) &&
            !(strcmp(word, "--bf16") == 0 && launch_mentions(l, "--fp16")))
            translation_first(t, arena_string(t->mem, word), l->line);
    add_primus_model(t, l);
}

/* What the wrapper sets stands before what is said; a switch may be said to be off. */
static void add_defaults(struct translation *t)
{
    const struct launch *l = t->from;
    const char *program = l->program ? l->program : "";
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++) {
        const char *at = DEFAULTS[i].words;
        char word[64];
        bool meant = (!*DEFAULTS[i].program || strcmp(program, DEFAULTS[i].program) == 0) &&
                     (!*DEFAULTS[i].flag || launch_mentions(l, DEFAULTS[i].flag));
        if (!meant || !next_word(&at, word, sizeof word) || launch_mentions(l, word) ||
            (*DEFAULTS[i].otherwise && launch_mentions(l, DEFAULTS[i].otherwise)))
            continue;
        for (at = DEFAULTS[i].words; next_word(&at, word, sizeof word);)
            translation_first(t, arena_string(t->mem, word), l->line);
    }
}

static void add_number(struct translation *t, const char *flag, int64_t n)
{
    translation_last(t, flag, arena_format(t->mem, "%lld", (long long)n), t->from->line);
}

/* slime: a step trains its share of what a rollout made, in sequences of any length. */
static void add_rollout(struct translation *t, struct launch *l)
{
    int64_t longest, micro, batch = slime_batch(l);
    if (!slime_is(l))
        return;
    if (batch > 0)
        add_number(t, "--global-batch-size", batch);
    if (!slime_sequences(l, &longest, &micro))
        return;
    add_number(t, "--seq-length", longest);
    if (micro > 0)
        add_number(t, "--micro-batch-size", micro);
    launch_note(
        l, arena_format(
               t->mem,
               "slime: every sequence is planned with %lld tokens%s, an answer at its longest; "
               "prompts and "
               "further turns count where --rollout-max-context-len says them, "
               "shorter ones take less",
               (long long)longest,
               micro > 1 ? arena_format(t->mem, ", %lld in a micro-batch", (long long)micro) : ""));
}

/* FlagScale's train_llava_onevision.py: the decoder's sequence is the longest there is, images and all. */
static bool takes_longest(const struct launch *l)
{
    return strstr(l->path, "onevision") || (l->program && strstr(l->program, "onevision"));
}

/* What a vision model makes of an image, as get_num_image_embeddings (clip_vit_model.py) counts it; 0 = it is not known. */
static int64_t image_tokens(const struct launch *l)
{
    int64_t height = launch_number(l, "--img-h", 224), width = launch_number(l, "--img-w", 224);
    int64_t patch = launch_number(l, "--patch-dim", 16);
    bool cut = launch_mentions(l, "--use-tiling") || launch_mentions(l, "--pixel-shuffle") ||
               takes_longest(l);
    if (cut || height < 1 || width < 1 || patch < 1)
        return 0;
    return (height / patch) * (width / patch) + !launch_mentions(l, "--disable-vision-class-token");
}

/* Without --decoder-seq-length a decoder runs over the text and its image (train.py of examples/multimodal until core
 * 0.9, FlagScale's train_llava.py). */
static void add_image_tokens(struct translation *t, struct launch *l)
{
    int64_t image = image_tokens(l), text = launch_number(l, "--seq-length", -1);
    int64_t longest = launch_number(l, "--max-position-embeddings", -1);
    if (!launch_mentions(l, "--language-model-type"))
        return;
    if (takes_longest(l) && longest > 0) {
        add_number(t, "--seq-length", longest);
        launch_note(l, "the decoder is planned over --max-position-embeddings tokens, as LLaVA "
                       "OneVision pads text and images to (-- --seq-length N)");
        return;
    }
    if (image < 1 || text < 1) {
        launch_note(l, "how many tokens the images have is not known, and --seq-length is planned: "
                       "the decoder runs over both, so time and memory are too low");
        return;
    }
    add_number(t, "--seq-length", text + image);
    if (launch_number(l, "--max-position-embeddings", text) < text + image)
        add_number(t, "--max-position-embeddings", text + image);
    launch_note(l, arena_format(t->mem,
                                "the decoder is planned over %lld tokens of text and %lld of the "
                                "image (-- --seq-length N)",
                                (long long)text, (long long)image));
}

/* Beside a vision model --seq-length is that of its own tokens. */
static void add_decoder_sequence(struct translation *t, struct launch *l)
{
    const char *flag = "--decoder-seq-length", *value = launch_value(t->from, flag);
    if (!launch_mentions(l, flag))
        add_image_tokens(t, l);
    if (value &&
        (launch_mentions(t->from, "--vision-model-type") || launch_mentions(t->from, "--img-h")))
        translation_last(t, "--seq-length", value, t->from->line);
    if (value && launch_mentions(l, "--language-model-type") &&
        !launch_mentions(l, "--packing-buffer-size"))
        launch_note(l, "--decoder-seq-length: every sample is planned so long, which is the most "
                       "it may be: shorter ones take less where they are not padded");
}

/* A sample of DPO is two sequences, one of GRPO a prompt and an answer (ms-swift, swift/megatron/trainers). */
static void add_rlhf(struct translation *t, struct launch *l)
{
    const char *type = launch_value(l, "--rlhf-type");
    int64_t micro = launch_number(l, "--micro-batch-size", 1);
    int64_t batch = launch_number(l, "--global-batch-size", 16);
    int64_t answer = launch_number(l, "--max-completion-length", 512);
    int64_t prompt = launch_number(l, "--max-length", -1);
    if (!l->program || strcmp(l->program, "megatron") != 0 || !type)
        return;
    if (is_one_of(type, "dpo rm") && micro > 0 && batch > 0 && !launch_mentions(l, "--packing")) {
        add_number(t, "--micro-batch-size", 2 * micro);
        add_number(t, "--global-batch-size", 2 * batch);
        launch_note(l, "a sample is two sequences, the chosen and the rejected one: twice the "
                       "batch and micro-batch are planned");
    }
    if (is_one_of(type, "grpo gkd") && prompt > 0 && answer > 0)
        add_number(t, "--seq-length", prompt + answer);
}

/* ms-swift: samples are as long as they are, unless they are packed to one length. */
static void take_samples(struct launch *l)
{
    const char *packing = launch_value(l, "--packing");
    const char *epochs = launch_value(l, "--num-train-epochs");
    double n;
    if (!l->program || strcmp(l->program, "megatron") != 0)
        return;
    if (epochs && parse_real(epochs, &n) && n > 0 && n <= 1e6)
        l->epochs = n;
    if (launch_mentions(l, "--max-length"))
        l->filling = packing && is_one_of(packing, "true True") ? FILLING_PACKED : FILLING_PADDED;
}

/* Pai-Megatron-Patch: samples have a length of their own in fine-tuning (megatron_patch/data/json_sft.py) and in the
 * programs of 2023 (LLamaRawDataset and LLamaIdxMapDataset of examples/llama/pretrain_megatron_llama.py). */
static void add_padding(struct translation *t, struct launch *l)
{
    static const char flag[] = "--max-padding-length";
    int64_t padded = launch_number(l, flag, -1);
    const char *set = launch_value(l, "--dataset");
    bool tunes = (l->program && (strstr(l->program, "finetune_") ||
                                 strncmp(l->program, "pretrain_megatron_", 18) == 0)) ||
                 (set && strcmp(set, "JSON-SFT") == 0);
    if (!tunes || padded < 1 || padded == launch_number(l, "--seq-length", -1))
        return;
    add_number(t, "--seq-length", padded);
    launch_note(l, arena_format(t->mem,
                                "%s %lld: samples are padded to it, and are planned "
                                "so long (-- --seq-length N)",
                                flag, (long long)padded));
}

void translation_defaults(struct translation *t, struct launch *l)
{
    take_samples(l);
    add_defaults(t);
    add_primus(t, l);
    add_rollout(t, l);
    add_rlhf(t, l);
    add_decoder_sequence(t, l);
    add_padding(t, l);
}
