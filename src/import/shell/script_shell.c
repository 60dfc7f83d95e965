/* Shells that a command starts: bash -c TEXT, scripts beside this one, jobs that are submitted, texts handed to a shell
 * on other machines or in containers, and commands that a shell reads. Each runs as one of its own: what it changes is
 * taken back at its end, the training that it starts stays. */
#include "import/shell/script_parts.h"

#include <string.h>

void script_hide_variables(struct script *s)
{
    for (size_t b = 0; b < s->buckets && script_spend(s, 1, 0); b++)
        for (struct variable *v = s->bucket[b]; v; v = v->next)
            if (v->value && !v->exported && is_name_start(*v->name))
                script_assign(s, v, NULL);
}

static void note_unread(struct script *s, const struct fields *f, int from, int count)
{
    struct str text = {0};
    if (s->unread)
        return;
    for (int i = from; i < from + count; i++)
        str_addf(&text, "%s%s", i > from ? " " : "", f->word[i].text);
    s->unread = s->line;
    s->shell = str_keep(&text, s->mem);
}

/* `bash -c TEXT ...` from the word at `i` on, in a process of its own. */
static void run_inner(struct script *s, const struct fields *f, int i)
{
    struct fields outer = s->outer;
    int mark = s->undos;
    enum leave perhaps = s->perhaps;
    if (f->word[i + 2].text[0] == LAUNCH_MARK)
        note_unread(s, f, i, 3);
    s->perhaps = LEAVE_NOT;
    s->outer = (struct fields){.count = i, .word = f->word};
    script_hide_variables(s);
    script_set_arguments(s, f, i + 4 < f->count ? i + 4 : f->count); /* the first is $0 */
    script_run_text(s, f->word[i + 2].text, f->word[i + 2].line);
    script_leave_shell(s, mark);
    s->outer = outer;
    s->leaves = LEAVE_NOT;
    s->perhaps = perhaps;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A script that the words from `from` on name, to be run as one of its own: `bash run.sh 4`. */
static bool run_file_of(struct script *s, const struct fields *f, int from)
{
    struct fields outer = s->outer;
    s->outer = (struct fields){.count = from, .word = f->word};
    bool runs = script_call_file(s, f, from);
    s->outer = outer;
    return runs;
}

/* Commands that a shell reads: `bash -s <<X`, `... | sh`. */
static bool run_input(struct script *s, const struct fields *f, int from)
{
    struct fields outer = s->outer;
    const char *text = s->input;
    int mark = s->undos;
    enum leave perhaps = s->perhaps;
    if (!text)
        return false;
    s->input = NULL;
    s->perhaps = LEAVE_NOT;
    s->outer = (struct fields){.count = from, .word = f->word};
    script_hide_variables(s);
    if (from < f->count && strcmp(f->word[from].text, "-s") == 0)
        script_set_arguments(s, f, from + 1);
    script_run_text(s, text, s->line);
    script_leave_shell(s, mark);
    s->outer = outer;
    s->input = text;
    s->leaves = LEAVE_NOT;
    s->perhaps = perhaps;
    return true;
}

/* The shell at `i` with what it is to run. */
static bool start_shell(struct script *s, const struct fields *f, int i)
{
    int next = i + 1;
    for (; next < f->count && f->word[next].text[0] == '-'; next++) {
        const char *option = f->word[next].text;
        if (option[1] != '-' && option[strlen(option) - 1] == 'c' && next + 1 < f->count) {
            run_inner(s, f, next - 1);
            return true;
        }
        if (strcmp(option, "-s") == 0)
            break;
        next += is_one_of(option, "-o -O --rcfile") && next + 1 < f->count;
    }
    bool reads = next == f->count || is_one_of(f->word[next].text, "-s -");
    if (reads ? run_input(s, f, next) : run_file_of(s, f, next))
        return true;
    if (!reads)
        note_unread(s, f, i, 2);
    return false;
}

/* sbatch OPTIONS FILE WORDS, or without a file what it reads. Its options count as headers do. */
static bool submit(struct script *s, const struct fields *f, int i)
{
    static const char valued[] = "-A -p -J -t -N -n -c -q -w -x -o -e -d -D -C -L -M --account "
                                 "--partition --job-name --time --nodes --ntasks";
    int next = i + 1;
    while (next < f->count && f->word[next].text[0] == '-')
        next += 1 + is_one_of(f->word[next].text, valued);
    const char *text = next < f->count ? script_file(s, f->word[next].text) : s->input;
    if (!text)
        return false;
    script_read_headers(s, text, strlen(text));
    script_read_options(s, f->word + i + 1, (next < f->count ? next : f->count) - i - 1);
    return next < f->count ? run_file_of(s, f, next) : run_input(s, f, next);
}

/* Commands that hand a text on to a shell elsewhere. */
static bool hands_on(const char *name)
{
    return is_one_of(name, "ssh pdsh clush pssh parallel su sudo docker podman enroot srun mpirun "
                           "mpiexec singularity apptainer tmux screen timeout nohup");
}

/* A word that is a command of its own: pdsh -w HOSTS "cd x && torchrun ...". */
static bool run_quoted(struct script *s, const struct fields *f)
{
    const char *text = f->word[f->count - 1].text;
    if (!hands_on(base_name(f->word[0].text)) || !strchr(text, ' ') ||
        (!strstr(text, ".py") && !strstr(text, "torchrun") && !strstr(text, "bash")))
        return false;
    struct fields shell = {0};
    for (int i = 0; i + 1 < f->count; i++)
        fields_add(&shell, f->word[i].text, f->word[i].line, s);
    fields_add(&shell, "bash", s->line, s);
    fields_add(&shell, "-c", s->line, s);
    fields_add(&shell, text, f->word[f->count - 1].line, s);
    run_inner(s, &shell, f->count - 1);
    return true;
}

bool script_start_shell(struct script *s, const struct fields *f)
{
    for (int i = 0; i < f->count; i++) {
        const char *word = f->word[i].text, *name = base_name(word);
        size_t n = strlen(name);
        if (is_one_of(name, "bash sh zsh"))
            return start_shell(s, f, i);
        if (strcmp(name, "sbatch") == 0)
            return submit(s, f, i);
        if (n > 3 && strcmp(name + n - 3, ".py") == 0)
            return false; /* what follows are its words */
        if (n > 3 && strcmp(name + n - 3, ".sh") == 0 && strchr(word, '/') && run_file_of(s, f, i))
            return true;
    }
    return run_quoted(s, f);
}
