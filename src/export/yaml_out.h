/* Values of YAML. */
#pragma once

struct str;

/* In double quotes, whatever it is: never a number, a switch or the end of the document. */
void add_yaml_string(struct str *out, const char *text);
/* A number as it stands, anything else in double quotes. */
void add_yaml_value(struct str *out, const char *text);
