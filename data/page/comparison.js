// Plans side by side: their figures, where the time goes, and from the first to each other one what every
// difference does, one at a time.
const letter = (i) => String.fromCharCode(65 + i);
const sideName = (i) => `${letter(i)}  ${DATA.sides[i].name}`;

// Figures of a plan: name, its text, whether more (1) or less (-1) is better, and of what.
const FIGURES = [
    ["GPUs", (p, s) => s.gpus],
    ["split", (p, s) => s.ways],
    ["step", (p) => p.step_s !== null && seconds(p.step_s)],
    ["tokens/s", (p) => p.tokens_per_s !== null && rate(p.tokens_per_s), 1, (p) => p.tokens_per_s],
    ["MFU", (p) => p.mfu !== null && percent(p.mfu), 1, (p) => p.mfu],
    ["memory, fullest GPU", (p) => memoryWords(p)],
    [
        "per million tokens",
        (p) => p.money && p.money.usd_per_mtoken && perToken(p.money.usd_per_mtoken),
        -1,
        (p) => p.money && p.money.usd_per_mtoken,
    ],
    ["runs", (p) => (p.feasible ? "yes" : `no: ${p.reasons[0] || "it does not fit"}`)],
];

function memoryWords(p) {
    const most = Math.max(...(p.stages || []).map((s) => s.device_bytes || 0));
    return most > 0 && `${(most / 2 ** 30).toFixed(1)} of ${gib(DATA.limit_gib[p.side])}`;
}

function bestOf(sign, get) {
    const values = DATA.comparison.plans.map(({ plan }) => (plan.feasible ? get(plan) : null)),
        known = values.filter((v) => typeof v === "number" && v > 0);
    if (known.length < 2) return null;
    return sign > 0 ? Math.max(...known) : Math.min(...known);
}

function figureRow([name, text, sign, get]) {
    const plans = DATA.comparison.plans,
        best = sign ? bestOf(sign, get) : null,
        cells = plans.map(({ plan }, i) => text(plan, DATA.sides[i]) || "-");
    if (cells.every((c) => c === "-") || (name === "runs" && cells.every((c) => c === "yes")))
        return null;
    const marked = (i) => best !== null && plans[i].plan.feasible && get(plans[i].plan) === best;
    return el(
        "tr",
        { class: cells.every((c) => c === cells[0]) ? "soft" : null },
        el("th", { scope: "row" }, name),
        cells.map((c, i) => el("td", { class: marked(i) ? "words best" : "words" }, c)),
    );
}

function drawSides() {
    const lead = "The best of a row is marked.",
        part = section("sides", "Plans", "Plans", lead, "first"),
        heads = DATA.sides.map((s, i) => el("th", { scope: "col" }, sideName(i)));
    part.body.append(
        el(
            "div",
            scrollBox("Plans"),
            el(
                "table",
                { class: "sides" },
                el("thead", {}, el("tr", {}, el("td", {}), heads)),
                el("tbody", {}, FIGURES.map(figureRow)),
            ),
        ),
    );
}

// Seconds a step, part by part; plans of different batches differ in the length of their bars too.
function drawTimes() {
    const plans = DATA.comparison.plans,
        top = [...plans.keys()].filter((i) => plans[i].plan.breakdown);
    const lead = "Seconds of one step on the busiest rank; what is hidden does not count.",
        part = section("times", "Where the time goes", "Time", lead, "first");
    if (top.length === 0) {
        part.note.textContent = "No times: no plan could be computed.";
        return;
    }
    const parts = Object.keys(BREAKDOWN);
    drawn(part, (width) => timesPicture(width, top, parts));
    part.node.append(legend(parts.map((p) => BREAKDOWN[p])));
    alternative(part, ["plan", "step", ...parts], () =>
        top.map((i) => [
            sideName(i),
            seconds(plans[i].plan.step_s),
            ...parts.map((p) => seconds(plans[i].plan.breakdown[p])),
        ]),
    );
}

function timesPicture(width, top, parts) {
    const row = 44,
        height = top.length * row + 26,
        { plans } = DATA.comparison,
        most = Math.max(...top.map((i) => plans[i].plan.step_s)),
        marks = [],
        x = linear(0, most, 0, width - 66, width < 500 ? 4 : 6),
        picture = canvas(width, height, `Step time of ${top.length} plans by what takes it`);
    x.ticks = x.ticks.slice(1, -1);
    grid(picture, x, 0, height - 24, (v) => seconds(v).replace(/\.0+(?= )/, ""));
    top.forEach((i, k) => {
        const { plan } = plans[i],
            y = k * row;
        let from = 0;
        const entries = parts.map((p) => {
            const s = plan.breakdown[p],
                entry = [BREAKDOWN[p][0], from, from + s, `${letter(i)}: ${BREAKDOWN[p][1]}`];
            entry.push([`${seconds(s)}, ${percent(s / plan.step_s)} of the step`]);
            from += s;
            return entry;
        });
        picture.append(label(0, y + 14, fitting(sideName(i), width), "soft halo"));
        segments(picture, entries, x, y + 19, 18, marks);
        picture.append(label(x(plan.step_s) + 7, y + 33, seconds(plan.step_s), "halo"));
    });
    listen(picture, marks);
    return picture;
}

const differenceWords = (d) => `${d.name}: ${d.from} \u2192 ${d.to}`;
const stepDifferences = (pair, step) =>
    pair.differences.filter((d) => step.differences.includes(d.name));

function pairTitle(pair) {
    const head = `From A to ${letter(pair.to)}`;
    return pair.change === null ? head : `${head}: ${signed(pair.change)} time per token`;
}

function drawPair(pair) {
    const lead = pair.steps.length
        ? "The differences are put into A one after another, from the top; a bar is what one of them does " +
          "to the time per token. The table says what it does alone. Red: up to there the plan does not " +
          "fit or is refused."
        : "",
        id = "pair-" + letter(pair.to),
        part = section(id, pairTitle(pair), `A to ${letter(pair.to)}`, lead, "last");
    if (pair.differences.length === 0) {
        part.note.textContent = "They are the same plan.";
        return;
    }
    if (pair.steps.length === 0) {
        part.note.textContent = "Not taken apart: " + pair.why_not;
        part.body.append(
            el("ul", { class: "notes" }, pair.differences.map((d) => el("li", {}, differenceWords(d)))),
        );
        return;
    }
    drawn(part, (width) => pairPicture(width, pair));
    alternative(part, ["difference", "from", "to", "step", "change", "alone", "memory", ""], () =>
        pair.steps.flatMap((step) =>
            stepDifferences(pair, step).map((d, k, all) =>
                k < all.length - 1
                    ? [d.name, d.from, d.to, "", "", "", "", "with the next"]
                    : [d.name, d.from, d.to, ...stepFigures(step)],
            ),
        ),
    );
}

function stepFigures(step) {
    const fits = step.feasible ? "" : step.reasons[0] || "does not fit";
    return [
        seconds(step.step_s),
        signed(step.change),
        step.alone === null ? "-" : signed(step.alone),
        gib(step.device_bytes / 2 ** 30),
        fits,
    ];
}

function pairPicture(width, pair) {
    const row = 40,
        { steps } = pair,
        height = steps.length * row + 30,
        middle = width / 2,
        most = Math.max(0.02, ...steps.map((s) => Math.abs(s.change))),
        x = (share) => middle + (share / most) * (middle - 58),
        picture = canvas(width, height, `What ${steps.length} differences do to the time per token`),
        marks = [];
    picture.append(svg("line", { class: "axis", x1: middle, x2: middle, y1: 16, y2: height - 20 }));
    picture.append(label(middle, height - 5, "time per token: less is better", "soft", "middle"));
    steps.forEach((step, k) => {
        const words = stepDifferences(pair, step).map(differenceWords),
            y = k * row,
            node = changeBar(step.change, y + 19, x, middle, false),
            less = step.change < -0.0005,
            end = less ? x(step.change) - 6 : Math.max(x(step.change), middle + 3) + 6;
        const [time, change, alone, memory, why] = stepFigures(step);
        picture.append(label(0, y + 13, fitting(words.join(", "), width), why ? "bad halo" : "soft halo"));
        picture.append(node, label(end, y + 30.5, change, "halo", less ? "end" : "start"));
        const lines = [`step ${time} then, ${change} time per token`, `alone: ${alone}`, `memory ${memory}`];
        marks.push({ node, title: words.join(", "), lines: why ? [...lines, why] : lines });
    });
    listen(picture, marks);
    return picture;
}

function showComparison(data) {
    DATA = data;
    data.comparison.plans.forEach(({ plan }, i) => (plan.side = i));
    byId("card").hidden = true;
    const names = data.sides.map((s) => s.name);
    byId("heading").textContent =
        names.length > 2 ? `${names.length} plans side by side` : names.join(" vs. ");
    byId("question").textContent = data.question;
    drawSides();
    drawTimes();
    for (const pair of data.comparison.comparisons) drawPair(pair);
    byId("foot").append(el("p", {}, `Written by Astra ${data.version}. ${madeOf()}`));
}
