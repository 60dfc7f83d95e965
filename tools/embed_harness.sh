#!/bin/sh
# embed_harness.sh FILE...: prints C source with these files as arrays (embed.sh) and the table
# embedded_harness of their names and texts (src/verify/harness.h).
set -eu
echo '#include "verify/harness.h"'
rows=
for file; do
    sh tools/embed.sh "$file"
    name=embedded_$(printf %s "$file" | tr -c 'A-Za-z0-9' _)
    rows="$rows    {\"${file##*/}\", $name},
"
done
printf 'const struct harness_file embedded_harness[] = {\n%s    {0},\n};\n' "$rows"
