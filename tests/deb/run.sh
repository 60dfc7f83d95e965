# run.sh FOLDER: lintian accepts the packages in FOLDER, and in a bare Debian they install, work and
# go away without a trace. The bare root is of this machine's release, made by mmdebstrap with apt's
# own configuration, and kept in FOLDER/../deb-root.tar. As root.
set -eu
folder=$1
tar=$folder/../deb-root.tar
root=$(mktemp -d)
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$root"' EXIT
trap 'exit 3' INT TERM

fault() {
    echo "FAIL $*"
    exit 1
}
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
quietly() { # COMMAND...: its words only where it fails
    "$@" >"$root/log" 2>&1 || { tail -n 20 "$root/log"; fault "$*"; }
}
files() { (cd "$root" && find etc usr var/lib/dpkg/info | LC_ALL=C sort); }

[ "$(id -u)" = 0 ] || { echo 'deb-test: chroot needs root'; exit 3; }
lintian --allow-root --fail-on warning,error "$folder"/*.changes || fault 'lintian'
echo 'lintian: nothing to say'

if [ ! -e "$tar" ]; then
    sources=/etc/apt/sources.list.d/debian.sources
    [ -e $sources ] || sources=
    mmdebstrap --quiet --variant=apt "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$tar" $sources
fi
tar -x -f "$tar" -C "$root"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
quietly inside apt-get update
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages"
rm -f "$root"/packages/*-dbgsym_*

# What they depend on stays: the traces are to be ours alone.
quietly inside apt-get install -y --no-install-recommends python3 gcc libc6-dev pkg-config \
    libjansson-dev libyaml-dev
files >"$root/before"
quietly inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb'

inside astra --version | grep -q '^astra [0-9]' || fault 'no version'
inside astra search --model llama3-8b --cluster 1x8:H100 --top 1 | grep -q '^Run tp' || fault 'no plan'
for file in bash-completion/completions/astra zsh/vendor-completions/_astra \
    fish/vendor_completions.d/astra.fish man/man1/astra-search.1.gz astra/schema; do
    [ -e "$root/usr/share/$file" ] || fault "no /usr/share/$file"
done
inside python3 - <<'END' || fault 'Python'
import astra_planner as astra
plan = astra.search(model="llama3-8b", cluster="1x8:H100", top=1).best[0]
assert plan.feasible and plan.gpus == 8, plan
END
cat >"$root/packages/user.c" <<'END'
#include <astra.h>
#include <stdio.h>
int main(void)
{
    struct astra *a = astra_new();
    int bad = astra_set(a, "model", "llama3-8b") || astra_set(a, "cluster", "1x8:H100") ||
              astra_search(a);
    puts(bad ? astra_message(a) : astra_version());
    astra_free(a);
    return bad;
}
END
inside sh -ec 'cd /packages
    gcc user.c $(pkg-config --cflags --libs astra) -o with_so && ./with_so
    gcc user.c $(pkg-config --cflags astra) -l:libastra.a $(pkg-config --static --libs-only-l astra |
        sed s/-lastra//) -o with_a && ./with_a' >"$root/said" || fault 'C programs'
[ "$(sort -u "$root/said" | wc -l)" = 1 ] || fault 'the two libraries are of two versions'
echo 'installed: program, completions, Python, C with both libraries'

quietly inside apt-get purge -y astra-planner libastra0 libastra-dev python3-astra-planner
rm -f "$root/log"
files >"$root/after"
diff "$root/before" "$root/after" || fault 'traces are left'
echo 'removed: no file is left'
