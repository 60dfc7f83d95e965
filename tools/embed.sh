#!/bin/sh
# embed.sh data/models/x.json [AS]: prints C source with the file's bytes and a final 0 as an array
# named embedded_models_x_json (AS, or the path below data/; other characters than letters and digits
# as _). The assembler takes the bytes from the file itself: listing them would take a compiler
# seconds per MB. EMBED=array lists them all the same, for assemblers that have no .incbin.
set -eu
name=embedded_$(printf %s "${2:-${1#data/}}" | tr -c 'A-Za-z0-9' _)
if [ "${EMBED:-}" = array ]; then
    echo "extern const char $name[];"
    echo "const char $name[] = {"
    od -An -v -td1 "$1" | sed 's/\([0-9]\)\( \|$\)/\1,\2/g'
    echo '0};'
    exit
fi
cat <<END
extern const char $name[];
__asm__(".section .rodata\n"
        ".global $name\n"
        ".hidden $name\n"
        ".balign 16\n"
        "$name:\n"
        ".incbin \"$1\"\n"
        ".byte 0\n"
        ".previous\n");
END
