#!/bin/sh
# Prints the commit of these sources, with "+" behind it where files differ from it; nothing where
# nobody knows. `make dist` puts it here (.gitattributes: export-subst), for sources without git.
set -u
stamp='$Format:%H$'
case $stamp in
'$'*) [ ! -e .git ] || git describe --always --exclude='*' --abbrev=12 --dirty=+ 2>/dev/null || : ;;
*) printf '%.12s\n' "$stamp" ;;
esac
