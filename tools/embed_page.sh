#!/bin/sh
# embed_page.sh data/page/page.html: prints the page of reports with all of it that is no answer:
#
#     {{style NAMES}} {{script NAMES}}  the files of these names beside it; those behind use, or
#                                       overrule, what those before define
#     {{policy}}                        what a browser may run and load: this style, this script,
#                                       named by their hashes, and nothing else
set -eu
folder=$(dirname "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without indents, which are a fifth of it. No text of a script goes over the end of a line.
join() { # KIND ENDING
    for name in $(sed -n "s/.*{{$1 \([^}]*\)}}.*/\1/p" "$folder/page.html"); do
        sed 's/^ *//' "$folder/$name.$2"
    done
}

# SHA-256 as policies write it: three hexadecimal digits are two of base 64.
hash_of() { # FILE
    sha256sum "$1" | awk '{
        digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (i = 1; i <= 64; i += 3) {
            bits = 0
            for (k = 0; k < 3; k++)
                bits = 16 * bits + index("0123456789abcdef", substr($1 "00", i + k, 1)) - 1
            out = out substr(digits, int(bits / 64) + 1, 1) substr(digits, bits % 64 + 1, 1)
        }
        print "\047sha256-" substr(out, 1, 43) "=\047"
    }'
}

join style css >"$work/style"
{ echo '"use strict";' && join script js; } >"$work/script"
policy="default-src 'none'; base-uri 'none'; form-action 'none'"
policy="$policy; style-src $(hash_of "$work/style"); script-src $(hash_of "$work/script")"

awk -v policy="$policy" -v work="$work" '
    {
        while (match($0, /[{][{](policy|style|script)[^}]*[}][}]/)) {
            kind = substr($0, RSTART + 2, RLENGTH - 4)
            sub(/ .*/, "", kind)
            printf "%s", substr($0, 1, RSTART - 1)
            if (kind == "policy") printf "%s", policy
            else while ((getline line < (work "/" kind)) > 0) print line
            $0 = substr($0, RSTART + RLENGTH)
        }
        print
    }' "$folder/page.html"
