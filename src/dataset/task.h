/* What a sample is trained for: by its next tokens, or with preferences and rewards. */
#pragma once

#include <stdbool.h>

enum task_kind {
#define TASK(word, ...) TASK_##word,
#include "dataset/tasks.def"
    TASKS
};

struct task {
    const char *word;
    int sequences;    /* of a sample */
    int forwards;     /* passes of each without a backward one */
    bool reference;   /* some with a frozen model, whose weights are in memory */
    int outputs;      /* of the head; 0 = the vocabulary */
    const char *what; /* a sample is */
    const char
        *compared;       /* with: "model", "base" (adapters switched off), "none"; NULL = nothing */
    double generation_s; /* of a step, before it trains */
};

/* Without a task, NULL, as of sft. */
const struct task *task_of(enum task_kind);
int task_sequences(const struct task *);
int task_forwards(const struct task *);
double task_generation_s(const struct task *);
/* Trains by next tokens and nothing else, as programs for pre-training and sft do. */
bool task_is_plain(const struct task *);

/* ", on pairs of answers (DPO) beside a reference model, 1 forward pass more"; nothing of NULL. */
struct str;
void task_add_words(const struct task *, struct str *);
