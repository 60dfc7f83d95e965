/* A job as someone's file starts it: the words behind the training program, where each stands, and
 * how many GPUs it is started on. Words may have parts that the file alone does not tell: these are
 * marked, and matter only where a flag with an effect needs them. */
#pragma once

#include "base/error.h"
#include "import/megatron/flags.h"

#include <stdint.h>

struct arena;

/* An unknown part of a word is LAUNCH_MARK, its number in decimal digits, LAUNCH_MARK_END. Known
 * text never has these bytes. */
enum { LAUNCH_MARK = 1, LAUNCH_MARK_END = 2 };

struct launch_word {
    const char *text;
    int line; /* 0 = not known */
};

/* Why a part of a word is not known. */
struct launch_unknown {
    const char *text;     /* as it stands there: "${TP}", "$(nproc)" */
    const char *why;      /* "which is not set" */
    const char *name;     /* of the variable that --env could set; NULL = none */
    int line;             /* of that variable or command; 0 = not known */
    const char *may_hold; /* text of which it may be a part; NULL = not known */
};

/* Words that the script compares a variable or an argument with. */
struct launch_choice {
    const char *name; /* of the variable; a number is an argument */
    int count, capacity;
    const char **word;
};

struct launch {
    const char *path;
    const char *kind;        /* "launch script" */
    const char *program;     /* that the words are for; NULL = not known */
    int line;                /* where it is started; 0 = not known */
    bool is_script;          /* the file is a shell script, not one that holds another */
    bool listed;             /* it starts nothing: flags of a variable that another script uses */
    int others;              /* trainings that it starts as well, which are not read */
    const char *model;       /* named instead of described: "Qwen/Qwen3-8B"; NULL = it is not */
    const char *train;       /* what of it, in the words of --train; NULL = all of it */
    const char *fork;        /* once translated: launch_fork(), which knows it by its flags */
    bool zero_of_bf16;       /* stage 1 stands for DeepSpeed's optimizer of bf16, without ZeRO */
    const char *old_release; /* once translated: what tells one before core 0.6, or its layers */
    const char *snapshot;    /* "Megatron-LM-231007" on Python's path: its date; NULL = none */
    bool plain_attention;    /* the model that is named, without its multi-latent attention */
    bool unfused;            /* the environment leaves TransformerEngine unfused attention alone */
    const char *deepspeed;   /* text of DeepSpeed's settings, where it is known; NULL = it is not */
    int count;
    const struct launch_word *word;
    const bool *
        implied; /* of each word, once translated: it does not stand there as such; NULL = all do */
    int unknowns;
    const struct launch_unknown *unknown;
    int64_t nodes, per_node;           /* both 0 = not known */
    int64_t gpus;                      /* 0 = not known */
    int64_t said_nodes, said_per_node; /* where the number of GPUs is not known: what is; 0 = not */
    int64_t accumulation;              /* micro-batches of a step; 0 = not said */
    enum sample_filling filling;
    double epochs;   /* of a dataset; 0 = not said */
    int64_t segment; /* nodes that lie together; 0 = not said */
    struct flags_texts notes;
    int arguments;               /* how many the script takes that are not given */
    const char *const *argument; /* the variable that each is put into; NULL = none */
    int choices;
    const struct launch_choice *choice;
};

bool launch_is_known(const char *word);
/* For people: marks are replaced by what stands in the file. */
const char *launch_text(const struct launch *, const char *word, struct arena *);
/* Of a word that is not known, "WHAT is $TP, which is not set: give --env TP=VALUE". */
const char *launch_asks(const struct launch *, const char *what, const char *word, struct arena *);

/* The first unknown part of a word; NULL = there is none. */
const struct launch_unknown *launch_unknown_of(const struct launch *, const char *word);

/* A flag that is there with a value that is not known, or is not taken. */
struct launch_open {
    const char *flag;
    const char *cause; /* variable that decides it, as --env names it; NULL = not known */
    bool doubled;      /* the flag may be there: a value elsewhere does not settle it */
    const char *what;  /* "train.sh:12: --micro-batch-size is ${MBS}, which is not set" */
    const char *give;  /* "--env MBS=VALUE"; NULL = `what` is all that can be said */
};

/* Flags that are left out, and what they may change (NULL = nothing that takes time or memory). */
struct launch_strange {
    const char *flag, *changes;
};

struct launch_flags {
    int count;
    const char **word; /* all known */
    int *line;         /* of each */
    int opens, open_capacity;
    struct launch_open *open;
    int strangers, stranger_capacity;
    struct launch_strange *stranger; /* each once */
    int nameless;                    /* mentions of others */
    int strays, stray_capacity;
    const char **stray;  /* words that belong to no flag */
    const char *refused; /* why no figure can be given; NULL = nothing was */
};

/* Parts the flags whose values are known from the others, flags of other dialects read as what they mean
 * (launch_split.c). What is left out goes to the notes. */
void launch_split(struct launch *, struct launch_flags *, struct arena *);

/* launch_lookup.c: whether a word is this flag, also with underscores, and whatever its value. */
bool launch_names_flag(const char *word, const char *flag);
/* The last value of a flag; NULL = it is not there, or not known. */
const char *launch_value(const struct launch *, const char *flag);
/* The same with the unknown parts that it may have. */
const char *launch_written(const struct launch *, const char *flag);
/* The dashes of Megatron's names where the file has underscores: --hidden_size. Any other name as it is. */
const char *launch_dashed(const char *name, struct arena *);
/* The fork or wrapper that it runs with, where that has not all of Megatron's flags; NULL = none is known. */
const char *launch_fork(const struct launch *);
/* Whether a flag of Megatron's is there because another one means it, or as a wrapper's default. */
bool launch_implies(const struct launch *, const char *flag);
/* Its flags are about generating text, and none is about training. */
bool launch_generates(const struct launch *);
/* launch_environment.c: notes what variables change; `value_of` gives a variable's value, NULL = it is not set, or not known. */
typedef const char *launch_variable(void *from, const char *name);
void launch_environment(struct launch *, launch_variable *value_of, void *from, struct arena *);
/* launch_deepspeed.c: adds what DeepSpeed's settings say to the words. */
void launch_deepspeed(struct launch *, struct arena *);
/* The words of the launch with those of other dialects replaced by what they mean. */
void launch_translate(struct launch *, struct arena *);

/* `file:line: ` before a message that names a flag of the launch, `file: ` before any other. */
void launch_name_place(const struct launch *, const struct launch_flags *, struct error *);

void launch_note(struct launch *, const char *text);
