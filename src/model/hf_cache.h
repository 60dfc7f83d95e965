/* Models in the local cache of Hugging Face. */
#pragma once

struct arena;

/* The config.json of an id such as meta-llama/Llama-3.1-70B; NULL: it is not there, or no id. */
const char *hf_cache_find(const char *id, struct arena *);
