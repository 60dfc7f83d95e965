# Faults for tools/mutants.sh: reads sources, prints COUNT lines "FILE TAB LINE TAB KIND TAB the line
# with its fault", drawn by SEED: a kind, each as likely as the next, then one of its places. Asserts
# and error texts are left alone, and calls that free memory: sanitizers look after these.
BEGIN {
    operators("compare", " < ~ <= @ <= ~ < @ > ~ >= @ >= ~ > ")
    operators("equal", " == ~ != @ != ~ == ")
    operators("arithmetic", " + ~ - @ - ~ + @ * ~ / @ / ~ * @ % ~ / @ += ~ -= @ -= ~ += ")
    operators("logic", " && ~ || @ || ~ && ")
    operators("least", "fmin(~fmax(@fmax(~fmin(@ min(~ max(@ max(~ min(")
    operators("answer", "return true;~return false;@return false;~return true;@= true~= false@= false~= true")
    operators("leap", " break;~ (void)0;@ continue;~ (void)0;")
}

function operators(kind, list, pairs, i, pair) {
    for (i = split(list, pairs, "@"); i > 0; i--) {
        split(pairs[i], pair, "~")
        old[++rules] = pair[1]; new[rules] = pair[2]; kind_of[rules] = kind
    }
}

FNR == 1 { comment = macro = 0; statement = "" }
{
    code = bare($0)
    gsub(/ \/ sizeof/, "QQQQQQQQQ", code) # how long a table is
    was_macro = macro
    macro = (macro || code ~ /^ *#/) && code ~ /\\$/
    statement = statement code
    if (!was_macro && code !~ /^ *#/ && statement !~ /assert|fail\(|error_|_missing\(/)
        look()
    if (code ~ /[;{}] *$/)
        statement = ""
}

# The line with comments and what stands in quotes blanked out: places stay what they are.
function bare(line, i, c, quote, out) {
    words = 0; begun = -2
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (comment) {
            comment = substr(line, i - 1, 2) != "*/" || i == begun + 2
            c = " "
        } else if (quote != "") {
            if (c == "\\") { out = out "Q"; i++ }
            else if (c == quote) { quote = ""; word_end[words] = i }
            c = "Q"
        } else if (c == "\"" || c == "'") {
            quote = c
            word_at[++words] = i
            c = "Q"
        } else if (substr(line, i, 2) == "//") {
            return out
        } else if (substr(line, i, 2) == "/*") {
            comment = 1; begun = i - 1
            c = " "
        }
        out = out c
    }
    return out
}

function fault(kind, at, length_, text) {
    if (!(kind in places)) kinds[++kind_count] = kind
    place[kind, ++places[kind]] = FILENAME "\t" FNR "\t" kind "\t" substr($0, 1, at - 1) text substr($0, at + length_)
}

function look(i, at, from) {
    for (i = 1; i <= rules; i++)
        for (from = 1; (at = index(substr(code, from), old[i])) > 0; from += at)
            fault(kind_of[i], from + at - 1, length(old[i]), new[i])
    if (match(code, /(if|while) \(/)) negate(RSTART + RLENGTH - 1)
    if (match(code, /[a-z]\([a-z_]+, [a-z_]+\)/)) swap(RSTART + 2, RLENGTH - 3)
    if (code ~ /^ +[a-z_][][A-Za-z0-9_.>*+-]*( [+*|-]?= .*|\(.*\));$/ && code !~ /^ *return|free|release|close/)
        fault("remove", match($0, /[^ ]/), length($0), "(void)0;")
    constants()
    if (FILENAME ~ /\.def$/ || code ~ /^ +[[{]/)
        for (i = 1; i <= words; i++) reword(word_at[i] + 1, word_end[i] - word_at[i] - 1)
}

function negate(open, i, depth) {
    for (i = open; i <= length(code); i++) {
        depth += (substr(code, i, 1) == "(") - (substr(code, i, 1) == ")")
        if (depth == 0) {
            fault("negate", open, i - open + 1, "(!" substr($0, open, i - open + 1) ")")
            return
        }
    }
}

function swap(at, n, two) {
    split(substr($0, at, n), two, ", ")
    fault("swap", at, n, two[2] ", " two[1])
}

function constants(from, n, text, before) {
    for (from = 1; match(substr(code, from), /[^A-Za-z0-9_.][0-9]+(\.[0-9]+)?/); from += RSTART + RLENGTH - 1) {
        before = substr(code, from + RSTART - 1, 1)
        text = substr(code, from + RSTART, n = RLENGTH - 1)
        if (substr(code, from + RSTART + n, 1) ~ /[A-Za-z_.]/ || (before == "[" && text > 7) || before == "{")
            continue # not a plain number; the size of an array; {0}
        fault("constant", from + RSTART, n, text == 1 && FNR % 2 ? 0 : text > 0 && FNR % 3 ? 2 * text : text + 1)
    }
}

# A name or flag in a table; what has blanks is prose.
function reword(at, n, middle) {
    middle = at + int(n / 2)
    if (n >= 3 && substr($0, at, n) !~ /[^A-Za-z0-9_.-]/)
        fault("word", middle, 1, substr($0, middle, 1) == "x" ? "y" : "x")
}

# The same numbers with every awk: the minimal standard generator.
function draw(n) {
    state = state * 16807 % 2147483647
    return 1 + state % n
}

END {
    state = 1 + SEED * 7919 % 2147483646
    for (draw(1); COUNT > 0 && kind_count > 0; COUNT--) {
        draw(1)
        kind = kinds[k = draw(kind_count)]
        print place[kind, i = draw(places[kind])]
        place[kind, i] = place[kind, places[kind]]
        if (--places[kind] == 0) kinds[k] = kinds[kind_count--]
    }
}
