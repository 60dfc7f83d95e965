/* Values of YAML. */
#include "export/job.h"

#include "base/str.h"

void add_yaml_string(struct str *out, const char *text)
{
    str_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            str_addf(out, "\\x%02x", c);
        else
            str_add_bytes(out, text, 1);
    }
    str_add(out, "\"");
}

void add_yaml_value(struct str *out, const char *text)
{
    double number;
    if (parse_real(text, &number))
        str_add(out, text);
    else
        add_yaml_string(out, text);
}
