# Every relative link in the documentation leads to a file of the project.
set -eu
for page in *.md doc/*.md; do
    sed -n 's/](/\n](/gp' "$page" | sed -n 's/^](\([^)#]*\).*/\1/p' | while read -r target; do
        case $target in
        '' | *://* | mailto:*) continue ;;
        esac
        [ -e "$(dirname "$page")/$target" ] || echo "$page: $target does not exist"
    done
done >"$SCRATCH/broken"
cat "$SCRATCH/broken"
[ ! -s "$SCRATCH/broken" ]
