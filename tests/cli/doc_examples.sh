# Examples in the documentation run, and print what their page shows.
#
# Every line "$ astra ..." of a fenced block, with the lines it goes on in behind a backslash, is
# run with the exit code it announces ("# exit 1" or "# exit 2" at its end) or 0: page by page, in a
# folder of the page's own that has links to the project's files. So pages may write files and read
# them later. Lines below a command, up to the next "$" or the end of the block, are what it prints,
# messages last. A line "..." stands for any lines, " ..." at the end of one for its rest; seconds
# of searches may differ. REWRITE=1 writes lines that differ in numbers alone as they are now into
# the pages.
set -eu
astra() { "$ASTRA" "$@"; }
project=$PWD
judge=$PWD/tests/cli/doc_examples.awk

extract() { # PAGE FOLDER: numbered files .command (with its place first) and .want in the folder
    awk -v page="$1" -v to="$2/" '
        function flush() {
            if (text)
                print text >(to n ".command")
            text = ""
        }
        /^```/ { fenced = !fenced; flush(); wanted = more = 0; next }
        !fenced { next }
        more { text = substr(text, 1, length(text) - 1) " " $0 }
        !more && /^\$ / { flush(); wanted = 0 }
        !more && /^\$ astra( |$)/ { wanted = 1; text = page ":" FNR " " substr($0, 3); n++ }
        wanted && !more && !/^\$ / { print FNR "\t" $0 >(to n ".want") }
        wanted { more = (more || /^\$ /) && /\\$/ }
        END { print n + 0 }' "$1"
}

run_example() { # FOLDER NUMBER PAGE
    read -r place command <"$1/$2.command"
    want=0
    case $command in
    *'# exit 1') want=1 ;;
    *'# exit 2') want=2 ;;
    esac
    case $command in
    *'| jq '*) command -v jq >"$1/jq" || { echo "$place: not run, there is no jq" && return 0; } ;;
    esac
    code=0
    (cd "$1/here" && eval "$command") </dev/null >"$1/out" 2>"$1/err" || code=$?
    if [ $code -ne $want ]; then
        echo "$place: exit code $code, expected $want: $command"
        cat "$1/err"
        return 1
    fi
    [ -f "$1/$2.want" ] || return 0
    cat "$1/err" >>"$1/out"
    : >"$1/changes"
    awk -v place="$place" -v changes="$1/changes" -v rewrite="${REWRITE:-0}" -f "$judge" \
        "$1/out" "$1/$2.want" || return 1
    [ ! -s "$1/changes" ] || rewrite "$1/changes" "$3"
}
rewrite() { # CHANGES PAGE
    awk -F '\t' 'NR == FNR { text[$1] = substr($0, length($1) + 2); next }
        FNR in text { print text[FNR]; next } { print }' "$1" "$2" >"$2.new"
    mv "$2.new" "$2"
}

failed=0
examples=0
for page in README.md doc/*.md doc/commands/*.md doc/evidence/*.md; do
    folder=$SCRATCH/$(echo "$page" | tr / -)
    mkdir -p "$folder/here/build"
    for name in data doc examples tests tools; do
        ln -s "$project/$name" "$folder/here/$name"
    done
    count=$(extract "$page" "$folder")
    for i in $(seq "$count"); do
        run_example "$folder" "$i" "$page" || failed=1
    done
    examples=$((examples + count))
done
[ $examples -gt 0 ] || { echo "no page has an example" && exit 1; }
[ $failed -eq 0 ]
