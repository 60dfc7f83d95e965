/* The commands, one table. Options are the library's own: each says which commands take it. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static const char *const SEARCH_EXAMPLES[] = {
    "astra search --model llama3-70b --cluster 64x8:H100",
    "astra search --model llama3-70b --cluster 64x8:H100 --set tp=4,8 --top 3 --stats",
    "astra search --model ./config.json --cluster 1..32x8:H100,1..64x8:A100 --price H100=2.5",
    "astra search --model mixtral-8x7b --cluster 8x8:H100 --format json -o plan.json",
    "astra search --model llama3-70b --cluster 1..64x8:H100 --report out.html",
    NULL,
};

static const char *const ESTIMATE_EXAMPLES[] = {
    "astra estimate --model llama3-8b --cluster 1x8:H100 --set tp=2 --set dist_opt=on",
    "astra estimate --model llama3-70b --cluster 8x8:H100 -- --tensor-model-parallel-size 8 "
    "--pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 128 --bf16 "
    "--sequence-parallel --use-distributed-optimizer",
    "astra estimate train.sh --cluster 8x8:H100 --env NNODES=8",
    "astra estimate job.sbatch --gpu H100 -- --vocab-size 128256",
    NULL,
};

static const char *const EXPLAIN_EXAMPLES[] = {
    "astra explain plan.json",
    "astra explain plan.json --stage memory",
    "astra explain plan.json --trace step.json",
    "astra explain --model llama3-8b --cluster 1x8:H100 --set tp=4 --set pp=2 --stage schedule",
    NULL,
};

static const char *const EXPORT_EXAMPLES[] = {
    "astra export plan.json --to slurm -o job.sbatch",
    "astra export plan.json --to megatron --megatron-version 0.17 --plan 2",
    "astra export plan.json --to flagscale --hosts nodes.txt --hostfile hosts -o job.yaml",
    "astra search --model llama3-8b --cluster 4x8:H100 --export slurm -o job.sbatch",
    NULL,
};

static const char *const VERIFY_EXAMPLES[] = {
    "astra verify plan.json --megatron ~/Megatron-LM",
    "astra verify plan.json --megatron ~/Megatron-LM --stages all --format json -o verify.json",
    "astra verify plan.json --dry-run --stack torch",
    NULL,
};

static const char *const GPUS_EXAMPLES[] = {
    "astra gpus",
    "astra gpus --format csv -o gpus.csv",
    NULL,
};

static const char *const PRICES_EXAMPLES[] = {
    "astra prices --gpu H100",
    "astra prices --market spot --provider aws,gcp --offer cheapest",
    "astra prices --prices sky:aws,gcp --region us-east-1 --format csv -o prices.csv",
    NULL,
};

static const char *const MODELS_EXAMPLES[] = {
    "astra models",
    "astra models --format json",
    NULL,
};

static const char *const FIT_EXAMPLES[] = {
    "astra fit my-gpu.csv --into models",
    "astra search --model llama3-8b --cluster 1x8:L4 --efficiency models",
    NULL,
};

static const char *const CALIBRATE_EXAMPLES[] = {
    "astra calibrate run1.log run2.log --gpu H100 -o profile.json",
    "astra calibrate run.log --cluster cluster.yaml",
    "astra search --model llama3-70b --cluster 64x8:H100 --profile profile.json",
    NULL,
};

static const struct command COMMANDS[] = {
    {"search", "", "the fastest strategies for a model on a pool of GPUs",
     "Tries every strategy worth naming, drops what Megatron refuses, what makes no sense and\n"
     "what does not fit, and lists the fastest plans, the Pareto front of speed and money, and "
     "the\n"
     "flags that launch the best one.",
     false, false, astra_search, SEARCH_EXAMPLES, NULL},
    {"estimate", "[FILE] [-- MEGATRON FLAGS]", "speed and memory of one strategy",
     "Says whether a strategy is valid and fits, how long a step takes and where the time goes, "
     "and\n"
     "what Astra would run instead. The strategy is given by Megatron-LM's own flags, by --set, or "
     "by\n"
     "a file: a launch script, an sbatch file, the log of a training, a list of overrides, a plan "
     "in\n"
     "JSON. Nothing in a file is executed; flags behind -- are added to its own. The job uses the\n"
     "whole cluster.",
     true, true, astra_estimate, ESTIMATE_EXAMPLES, NULL},
    {"explain", "[FILE] [-- MEGATRON FLAGS]", "why a plan is fast or slow, valid or not",
     "Takes a plan that search or estimate wrote with --format json (of a search the best one),\n"
     "or a strategy as estimate does.",
     true, true, astra_explain, EXPLAIN_EXAMPLES, NULL},
    {"export", "PLAN.json", "a plan as a script that starts it",
     "Takes a plan that search or estimate wrote with --format json and writes it as launch "
     "flags,\n"
     "as a script for torchrun or Slurm, or as a job of another system. Paths, data and accounts\n"
     "are variables at its top. doc/export.md says what each format has.",
     true, false, astra_export, EXPORT_EXAMPLES, NULL},
    {"verify", "PLAN.json", "a plan held to measurements on this machine's GPU",
     "Runs one rank of each kind of stage of a plan alone on the local GPU, with Megatron-LM and\n"
     "PyTorch (TransformerEngine where it is installed), and prints predicted and measured "
     "compute\n"
     "and memory side by side, with a verdict. Exit code 0: confirmed, 1: not. doc/verify.md "
     "tells\n"
     "more.",
     true, false, astra_verify, VERIFY_EXAMPLES, NULL},
    {"gpus", "", "the GPU types Astra knows",
     "Lists names, short names, peaks, memory, links and prices, and where their operator times\n"
     "come from: measured, transferred from other GPUs of the generation, or the data sheet.",
     false, false, astra_list_gpus, GPUS_EXAMPLES, NULL},
    {"prices", "", "what GPUs cost, and which prices a search uses",
     "Lists offers by provider and market, cheapest first, and per GPU the price that a search\n"
     "would use and why. Whole nodes are billed; network egress and storage are not counted.",
     false, false, astra_list_prices, PRICES_EXAMPLES, NULL},
    {"models", "", "the models Astra knows by name", "Lists presets for --model with their sizes.",
     false, false, astra_list_models, MODELS_EXAMPLES, NULL},
    {"fit", "PROFILE.csv ...", "learns operator times from measurements",
     "Adds a GPU that tools/profile measured to the learned models, says how far off they are on\n"
     "what they have not seen, and writes them to a folder for --efficiency. doc/operators.md\n"
     "explains how, and how all models are learned anew.",
     false, false, astra_fit, FIT_EXAMPLES, "measured"},
    {"calibrate", "LOG ... | RESULT.json ...", "fits predictions to your own runs",
     "Reads training logs of Megatron and results of verify, compares them with what Astra "
     "predicts,\n"
     "and fits few factors (compute, communication inside and between nodes, memory) with their\n"
     "uncertainty; what the inputs cannot tell is refused. The report goes to standard output, "
     "the\n"
     "profile for --profile to -o FILE. doc/calibrate.md explains how.",
     false, false, astra_calibrate, CALIBRATE_EXAMPLES, "from"},
    {0},
};

const struct command *commands(void)
{
    return COMMANDS;
}

const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

bool command_takes(const struct command *c, const struct astra_option *option)
{
    size_t n = strlen(c->name);
    if (!*option->commands) /* all take it */
        return true;
    for (const char *at = option->commands; (at = strstr(at, c->name)); at += n)
        if ((at == option->commands || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

const struct astra_option *option_at(const struct command *c, int i)
{
    const struct astra_option *const tables[] = {astra_options(), own_options()};
    for (int t = 0; t < 2; t++)
        for (const struct astra_option *o = tables[t]; o->name; o++)
            if (command_takes(c, o) && i-- == 0)
                return o;
    return NULL;
}

void option_help(const struct astra_option *o, char out[HELP_MAX])
{
    bool usual = *o->usual;
    snprintf(out, HELP_MAX, "%s%s%s%s%s", o->help, usual ? " (" : "", o->usual, usual ? ")" : "",
             o->repeats ? "; may be given several times" : "");
}
