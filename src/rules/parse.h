/* From the tokens of an expression to code. For this stage only. */
#ifndef ASTRA_RULES_PARSE_H
#define ASTRA_RULES_PARSE_H

#include <stdbool.h>

struct code;
struct lexer;

/* Reads an expression from the current token on and leaves the first token behind it as the current
 * one. `code` is overwritten. */
bool parse_expression(struct lexer *, struct code *);

#endif
