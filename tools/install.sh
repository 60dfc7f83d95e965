#!/bin/sh
# install.sh [--remove]: puts what was built under DESTDIR/PREFIX, or takes it away again.
# From the environment: BUILD, VERSION, LIBS (what the library itself links), PREFIX, DESTDIR, and
# LIBDIR (below PREFIX: lib).
set -eu
: "${BUILD:?}" "${VERSION:?}" "${LIBS:?}" "${PREFIX:?}"
soname=libastra.so.${VERSION%%.*}
root=${DESTDIR:-}$PREFIX
lib=${LIBDIR:-lib}
share=$root/share/astra
man=$root/share/man/man1
bash=share/bash-completion/completions/astra
zsh=share/zsh/site-functions/_astra
fish=share/fish/vendor_completions.d/astra.fish

pc() {
    cat <<END
prefix=$PREFIX
libdir=\${prefix}/$lib
includedir=\${prefix}/include

Name: astra
Description: Finds the fastest and cheapest parallel strategy for training a Transformer
Version: $VERSION
Libs: -L\${libdir} -lastra
Libs.private: $LIBS
Cflags: -I\${includedir}
END
}

put() { install -D -m "$1" "$2" "$root/$3"; }
made() { # FILE ARGUMENTS...: what astra prints
    file=$root/$1
    shift
    mkdir -p "$(dirname "$file")"
    "$BUILD/astra" "$@" >"$file"
    chmod 644 "$file"
}

if [ "${1:-}" = --remove ]; then
    rm -f "$root/bin/astra" "$root/include/astra.h" "$root/$lib/pkgconfig/astra.pc" \
        "$root/$lib/libastra.a" "$root/$lib/libastra.so" "$root/$lib/libastra.so."[0-9]* \
        "$root/$bash" "$root/$zsh" "$root/$fish"
    for page in "$man/astra.1" "$man/astra-"*.1; do
        if grep -qs 'Made by astra man' "$page"; then rm -f "$page"; fi # not someone else's
    done
    rm -rf "$share"
    exit 0
fi
put 755 "$BUILD/astra" bin/astra
put 644 include/astra.h include/astra.h
put 644 "$BUILD/libastra.a" "$lib/libastra.a"
put 755 "$BUILD/libastra.so" "$lib/libastra.so.$VERSION"
ln -sf "libastra.so.$VERSION" "$root/$lib/$soname"
ln -sf "$soname" "$root/$lib/libastra.so"
mkdir -p "$root/$lib/pkgconfig" "$share"
pc >"$root/$lib/pkgconfig/astra.pc"
chmod 644 "$root/$lib/pkgconfig/astra.pc"
# Everything below data/ is for people as well: schemas, example clusters, rule files, presets.
(cd data && find . -type f) | while read -r file; do
    install -D -m 644 "data/$file" "$share/${file#./}"
done
made "$bash" completions bash
made "$zsh" completions zsh
made "$fish" completions fish
"$BUILD/astra" man --list | while read -r page; do
    made "share/man/man1/$page.1" man "$page"
done
