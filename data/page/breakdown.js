// Where a step's time goes, plan by plan.
const MOST_BARS = 10;

function partEntries(i) {
    const step = figure(i, "step_s");
    let from = 0;
    return PARTS.map((part, k) => {
        const share = shares(i)[k] / 1000,
            entry = [
                BREAKDOWN[part][0],
                from,
                from + share * step,
                `${planName(i)}: ${BREAKDOWN[part][1]}`,
                [`${seconds(share * step)}, ${percent(share)} of the step`, ways(i)],
            ];
        from += share * step;
        return entry;
    });
}

const partLegend = () => legend(PARTS.map((part) => BREAKDOWN[part]));

function drawBreakdown() {
    const part = section(
        "breakdown",
        DATA.search ? "Where the time goes: top plans" : "Where the time goes",
        "Time",
        "Seconds of one step on the busiest rank; what is hidden does not count.",
        "left",
    );
    const top = [...Array(Math.min(P.listed, MOST_BARS)).keys()].filter(
        (i) => figure(i, "step_s") !== null,
    );
    if (top.length === 0) {
        part.note.textContent = "No times: the plan is not feasible.";
        return;
    }
    drawn(part, (width) => breakdownPicture(width, top));
    part.node.append(partLegend());
    alternative(part, ["plan", "step", ...PARTS], () =>
        top.map((i) => [
            planName(i),
            seconds(figure(i, "step_s")),
            ...shares(i).map((s) => seconds((s / 1000) * figure(i, "step_s"))),
        ]),
    );
}

function breakdownPicture(width, top) {
    const row = 44,
        height = top.length * row + 26,
        most = Math.max(...top.map((i) => figure(i, "step_s"))),
        marks = [];
    const x = linear(0, most, 0, width - 66, width < 500 ? 4 : 6),
        picture = canvas(width, height, `Step time of ${top.length} plans by what takes it`);
    x.ticks = x.ticks.slice(1, -1);
    grid(picture, x, 0, height - 24, (v) => seconds(v).replace(/\.0+(?= )/, ""));
    top.forEach((i, k) => {
        const y = k * row,
            step = figure(i, "step_s"),
            words = (DATA.search ? i + 1 + "  " : "") + ways(i);
        picture.append(label(0, y + 14, fitting(words, width), "soft halo"));
        segments(picture, partEntries(i), x, y + 19, 18, marks, i);
        picture.append(label(x(step) + 7, y + 33, seconds(step), "halo"));
    });
    listen(picture, marks);
    return picture;
}
