/* How many entries a vocabulary has, by what a tokenizer, a model or a script is called. */
#pragma once

/* 0 = no name of the table is in the text; otherwise `name` is the one. Of a path the last parts count. */
int tokenizer_entries(const char *text, const char **name);

/* How many entries its file has in its name, "bpe_131072" or "vocab_150k"; 0 = it does not. */
int tokenizer_size(const char *text);
