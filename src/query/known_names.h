/* Names that values of options may have, for completions. */
#ifndef ASTRA_KNOWN_NAMES_H
#define ASTRA_KNOWN_NAMES_H

struct str;

/* With a blank between them: of "gpus" (short ones too), "models" or "parameters". Nothing for
 * another word. */
void known_names(const char *of, struct str *out);

#endif
