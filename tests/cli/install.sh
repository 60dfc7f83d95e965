# An installed tree is whole: astra.h compiles alone, pkg-config knows the flags, a program links
# with either library and runs, and removing leaves no file behind.
set -eu
export PREFIX="$SCRATCH/usr"
sh tools/install.sh
export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"

[ "$(pkg-config --modversion astra)" = "$VERSION" ]
cat >"$SCRATCH/user.c" <<'END'
#include <astra.h>
int main(void)
{
    return 0;
}
END
# The program calls nothing: without --no-as-needed the linker would leave the library out. CC,
# LDFLAGS and the output of pkg-config are lists of words.
build() { # OUTPUT LIBRARIES...
    output=$1
    shift
    $CC -std=c17 -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags astra) "$SCRATCH/user.c" \
        $LDFLAGS -Wl,--no-as-needed "$@" -o "$output"
}
build "$SCRATCH/with_so" $(pkg-config --libs astra)
build "$SCRATCH/with_a" -Wl,--whole-archive "$PREFIX/lib/libastra.a" -Wl,--no-whole-archive $LIBS
LD_LIBRARY_PATH="$PREFIX/lib" "$SCRATCH/with_so"
"$SCRATCH/with_a"
LD_LIBRARY_PATH="$PREFIX/lib" ldd "$SCRATCH/with_so" |
    grep -q "libastra.so.${VERSION%%.*} => $PREFIX/lib/"
"$PREFIX/bin/astra" --version >"$SCRATCH/version"

# They need the C library, jansson and libyaml, and sanitizers where these are built in: libxgboost
# is for training and tests.
for file in bin/astra "lib/libastra.so.$VERSION"; do
    objdump -p "$PREFIX/$file" | awk '$1 == "NEEDED" { print $2 }' >"$SCRATCH/needed"
    if grep -vE '^(lib(jansson|yaml-0|m|c|pthread|dl|rt|gcc_s|asan|ubsan)|ld-linux.*)[.]so' \
        "$SCRATCH/needed"; then
        echo "$file needs it"
        exit 1
    fi
done
if grep -rl 'include <xgboost' src cli include examples; then exit 1; fi

# Completions and manual pages are there; a page of someone else's is not ours to remove.
bash -n "$PREFIX/share/bash-completion/completions/astra"
[ -s "$PREFIX/share/zsh/site-functions/_astra" ]
[ -s "$PREFIX/share/fish/vendor_completions.d/astra.fish" ]
man=$PREFIX/share/man/man1
for page in astra astra-search astra-explain astra-fit; do
    grep -q '^[.]SH NAME' "$man/$page.1" || { echo "no page $page"; exit 1; }
done
echo '.TH ASTRA-FOREIGN 1' >"$man/astra-foreign.1"

sh tools/install.sh --remove
rm "$man/astra-foreign.1" # it is still there
left=$(find "$PREFIX" -type f -o -type l)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
