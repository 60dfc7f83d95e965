# Every relative link in the documentation leads to a file of the project, and every anchor to a
# heading of its page.
set -eu

anchors() { # PAGE: what its headings are called in links, one a line
    awk '/^```/ { fenced = !fenced } !fenced && /^#+ / {
        sub(/^#+ /, "")
        text = tolower($0)
        gsub(/[^a-z0-9 _-]/, "", text)
        gsub(/ /, "-", text)
        print text
    }' "$1"
}

for page in *.md doc/*.md doc/commands/*.md doc/evidence/*.md; do
    sed -n 's/](/\n](/gp' "$page" | sed -n 's/^](\([^)]*\).*/\1/p' | while read -r link; do
        case $link in
        *://* | mailto:*) continue ;;
        esac
        target=$(dirname "$page")/${link%%#*}
        case $link in '#'*) target=$page ;; esac
        case $link in *#*) anchor=${link#*#} ;; *) anchor= ;; esac
        [ -e "$target" ] || { echo "$page: $link does not exist" && continue; }
        [ -z "$anchor" ] || anchors "$target" | grep -qx -e "$anchor" ||
            echo "$page: $link has no such heading"
    done
done >"$SCRATCH/broken"
cat "$SCRATCH/broken"
[ ! -s "$SCRATCH/broken" ]
