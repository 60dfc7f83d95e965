#!/bin/sh
# embed.sh data/models/x.json: prints C source with the file's bytes and a final 0 as an array named
# embedded_models_x_json (the path below data/, other characters than letters and digits as _).
set -eu
name=embedded_$(printf %s "${1#data/}" | tr -c 'A-Za-z0-9' _)
printf 'extern const char %s[];\nconst char %s[] = {\n' "$name" "$name"
od -An -v -tx1 "$1" | sed 's/ \([0-9a-f][0-9a-f]\)/(char)0x\1,/g'
printf '0};\n'
