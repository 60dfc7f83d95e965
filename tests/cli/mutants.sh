# Faults of `make mutants`: every kind is found, each changes one line of code and nothing in
# comments, asserts and texts of errors; a seed draws the same ones every time.
set -eu
cat >"$SCRATCH/a.c" <<'END'
#define KEEP(a) ((a) < 3 && (a) > 1)
/* if (a < b && c == 1) return true; */
static int grown(int count, int most) // a < b
{
    assert(count < most && most == 7);
    if (count < most && *"a < 1" == 'a') /* 1 + 2 */
        return fail(err, "%d < %d", count + 1,
                    most - 2);
    for (int i = 5; i < 9; i++) {
        if (i != 6)
            continue;
        take(count, most);
        arena_release(mem);
    }
    count = fmin(count + 1, 3) * 2;
    return true;
}
    {"name-of", "two words", 12},
END
draw() { awk -v SEED="$1" -v COUNT="$2" -f tools/mutants.awk "$SCRATCH/a.c"; }
draw 1 1000 >"$SCRATCH/all"
cut -f 2 "$SCRATCH/all" | sort -nu | tr '\n' ' ' >"$SCRATCH/lines"
[ "$(cat "$SCRATCH/lines")" = '6 9 10 11 12 15 16 18 ' ] || { echo "lines $(cat "$SCRATCH/lines")"; exit 1; }
cut -f 3 "$SCRATCH/all" | sort -u | tr '\n' ' ' >"$SCRATCH/kinds"
[ "$(cat "$SCRATCH/kinds")" = 'answer arithmetic compare constant equal leap least logic negate remove swap word ' ] ||
    { echo "kinds $(cat "$SCRATCH/kinds")"; exit 1; }
for text in '    if (count <= most && *"a < 1" == '"'a'"') /* 1 + 2 */' '        (void)0;' \
    '        take(most, count);' '        if (!(i != 6))' '    {"namx-of", "two words", 12},' '    return false;'; do
    cut -f 4 "$SCRATCH/all" | grep -qxF -- "$text" || { echo "no fault '$text'"; exit 1; }
done
sort "$SCRATCH/all" | uniq -d | grep . && { echo "drawn twice"; exit 1; }
cut -f 4 "$SCRATCH/all" | grep -xFf "$SCRATCH/a.c" && { echo "a fault that changes nothing"; exit 1; }
draw 2 10 >"$SCRATCH/two"
draw 2 10 | cmp - "$SCRATCH/two"
[ "$(wc -l <"$SCRATCH/two")" -eq 10 ] && ! draw 3 10 | cmp -s - "$SCRATCH/two"
