/* Pieces of bash that launch scripts share. Each ends in a newline. */
#pragma once

struct export_job;
struct str;

/* What the job is, as comments. */
void add_bash_about(const struct export_job *, struct str *out);
/* Variables that are the user's to set: where things are, data, length of the run. */
void add_bash_variables(const struct export_job *, struct str *out);
/* The environment that the plan needs. */
void add_bash_environment(const struct export_job *, struct str *out);
/* Environment, flags by section, and RUN_ARGS made of the variables. */
void add_bash_settings(const struct export_job *, struct str *out);
/* A function place(): GPUS, FIRST_RANK and GPU_TYPE of a node by its rank. */
void add_bash_place(const struct export_job *, struct str *out);
/* A function check(): ends where the node has no GPU of the type in GPU_TYPE. */
void add_bash_check(struct str *out);
/* "${MODEL_ARGS[@]}" ... "${RUN_ARGS[@]}", without a newline. */
void add_bash_words(const struct export_job *, struct str *out);
