/* What a sample is trained for, by the rows of tasks.def. */
#include "dataset/task.h"

#include "base/str.h"

const struct task *task_of(enum task_kind kind)
{
    static const struct task tasks[] = {
#define TASK(word, sequences, forwards, reference, outputs, what)                                  \
    {#word, sequences, forwards, reference, outputs, what, NULL, 0},
#include "dataset/tasks.def"
    };
    return &tasks[kind];
}

int task_sequences(const struct task *t)
{
    return t ? t->sequences : 1;
}

int task_forwards(const struct task *t)
{
    return t ? t->forwards : 0;
}

bool task_is_plain(const struct task *t)
{
    return task_sequences(t) == 1 && task_forwards(t) == 0;
}

double task_generation_s(const struct task *t)
{
    return t ? t->generation_s : 0;
}

void task_add_words(const struct task *t, struct str *s)
{
    if (!t)
        return;
    str_addf(s, ", on %s", t->what);
    if (t->reference)
        str_add(s, " beside a reference model in memory");
    if (t->forwards > 0)
        str_addf(s, ", %d forward pass%s more", t->forwards, t->forwards > 1 ? "es" : "");
    if (t->generation_s > 0)
        str_addf(s, ", %g s of generation a step", t->generation_s);
}
