# Compares what a command printed (first file) with what a page shows (second file, each line with
# its number in the page and a tab). With rewrite=1 lines that differ in numbers alone are taken
# for the same and written to the file `changes`, as they are printed.

function masked(text) {
    gsub(/[0-9]+(\.[0-9]+)?/, "0", text)
    gsub(/#+\.*/, "#", text)
    gsub(/ +/, " ", text)
    return text
}
function timeless(text) {
    gsub(/(elapsed|took) [0-9.]+ (us|ms|s|min)/, "elapsed", text)
    return text
}
function shortened(text, shown) { # as the page shows it
    return shown ~ / \.\.\.$/ ? substr(text, 1, length(shown) - 4) " ..." : text
}
function same(shown, text) {
    text = shortened(text, shown)
    return timeless(shown) == timeless(text) || (rewrite == 1 && masked(shown) == masked(text))
}
function complain(number, text, instead) {
    failed = 1
    sub(/:[0-9]+$/, "", place)
    printf "%s:%s: the page shows\n    %s\nprinted is\n    %s\n", place, number, text, instead
    exit 1
}

FILENAME == ARGV[1] { printed[FNR] = $0; lines = FNR; next }
{
    number = $0
    sub(/\t.*/, "", number)
    text = substr($0, length(number) + 2)
    if (text == "...") {
        skip = 1
        next
    }
    for (k = at + 1; k <= lines && !same(text, printed[k]) && skip; k++)
        continue
    if (k > lines || !same(text, printed[k]))
        complain(number, text, at < lines ? printed[at + 1] : "(nothing more)")
    if (timeless(text) != timeless(shortened(printed[k], text)))
        print number "\t" shortened(printed[k], text) >changes
    at = k
    skip = 0
}
END {
    if (!failed && !skip && at < lines)
        complain(number, "(nothing more)", printed[at + 1])
}
