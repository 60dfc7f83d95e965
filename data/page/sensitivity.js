// Plan 1 as it is, with one input changed: what moves, and how far.
const METRICS = {
    speed: [
        "throughput per GPU",
        (c) =>
            c.tokens_per_s === null
                ? null
                : c.tokens_per_s / gpusOf(c) / (value(0, "tokens_per_s") / figure(0, "gpus")) - 1,
    ],
    money: [
        "USD per million tokens",
        (c) =>
            c.usd_per_mtoken === null ? null : c.usd_per_mtoken / figure(0, "usd_per_mtoken") - 1,
    ],
};

const gpusOf = (c) =>
    c.nodes.split(" + ").reduce((sum, part) => sum + Number(part.split(" ")[0]), 0);

function drawSensitivity() {
    if (DATA.changes.length === 0) return;
    const part = section(
        "sensitivity",
        "Sensitivity of plan 1",
        "Sensitivity",
        [
            "The same plan with one input changed. Another plan may be better then: ",
            el("code", { class: "quiet" }, "--what-if"),
            " searches for it.",
        ],
        "left",
    );
    let metric = "speed";
    const inputs = [...new Set(DATA.changes.map((c) => c.input))].map((name) => [
        name,
        DATA.changes.filter((c) => c.input === name),
    ]);
    const redraw = drawn(part, (width) => sensitivityPicture(width, inputs, METRICS[metric]));
    if (PRICED)
        part.tools.append(
            select(
                "what is compared",
                Object.entries(METRICS).map(([k, [name]]) => [k, name]),
                (v) => {
                    metric = v;
                    redraw();
                },
            ),
        );
    alternative(
        part,
        ["input", "change", "throughput per GPU", "USD per million tokens", "fits"],
        () =>
            DATA.changes.map((c) => [
                c.input,
                c.change,
                ...Object.values(METRICS).map(([, get]) =>
                    c.tokens_per_s === null || get(c) === null ? "" : signed(get(c)),
                ),
                c.feasible ? "yes" : c.reason,
            ]),
    );
    drawWhatIfs(part);
}

// Prices do not change speed: they are left out of it.
function movingInputs(inputs, metric) {
    return inputs.filter(([name]) => metric !== METRICS.speed || !name.startsWith("price"));
}

function sensitivityPicture(width, all, metric) {
    const inputs = movingInputs(all, metric),
        [name, get] = metric,
        heights = inputs.map(([, list]) => 26 + 18 * list.length),
        height = heights.reduce((a, b) => a + b, 24),
        middle = width / 2,
        marks = [];
    const shown = inputs.flatMap(([, list]) => list).filter((c) => c.feasible && get(c) !== null),
        most = Math.max(0.02, ...shown.map((c) => Math.abs(get(c)))),
        x = (share) => middle + (share / most) * (middle - 58);
    const words = `How ${name} of plan 1 changes with ${inputs.length} inputs`,
        picture = canvas(width, height, words);
    picture.append(svg("line", { class: "axis", x1: middle, x2: middle, y1: 16, y2: height - 18 }));
    picture.append(label(middle, height - 4, name + " as predicted", "soft", "middle"));
    let y = 0;
    inputs.forEach(([input, list], k) => {
        picture.append(label(0, y + 13, input, "soft halo"));
        const top = y + 19;
        list.forEach((c, m) => marks.push(addChange(picture, c, top + m * 18, x, middle, metric)));
        y += heights[k];
    });
    listen(picture, marks);
    return picture;
}

// One change: a bar to the left or right of the middle, or why there is none.
function addChange(picture, c, top, x, middle, metric) {
    const share = metric[1](c),
        title = `${c.input}: ${c.change}`;
    if (!c.feasible || share === null) {
        const node = svg("text", { class: "bad halo", x: middle + 8, y: top + 11 });
        node.append(`${c.change}: does not work`);
        picture.append(node);
        return { node, title, lines: [c.reason || "not known"] };
    }
    const less = share < -0.0005,
        node = changeBar(share, top, x, middle, metric === METRICS.speed),
        end = less ? x(share) - 6 : Math.max(x(share), middle + 3) + 6;
    picture.append(node);
    picture.append(label(end, top + 11.5, signed(share), "halo", less ? "end" : "start"));
    const side = less ? middle + 6 : middle - 6;
    picture.append(label(side, top + 11.5, c.change, "soft halo", less ? "start" : "end"));
    const lines = [
        `${signed(share)} ${metric[0]}`,
        `step ${seconds(c.step_s)}, ${rate(c.tokens_per_s)} tokens/s on ${c.nodes}`,
        `memory ${c.memory_gib.toFixed(1)} of ${gib(c.limit_gib)}`,
    ];
    return { node, title, lines };
}

function changeBar(share, y, x, middle, moreIsBetter) {
    const better = moreIsBetter === share >= 0,
        style = Math.abs(share) < 0.0005 ? "f8" : better ? "good" : "worse",
        width = Math.max(3, Math.abs(x(share) - middle));
    const place = { x: Math.min(middle, x(share)), y, rx: 2, width, height: 14 };
    return svg("rect", { class: style, ...place });
}

// What was asked with --what-if: searched anew, so that the plan may be another one.
function drawWhatIfs(part) {
    if (DATA.what_if.length === 0) return;
    const rows = DATA.what_if.map((w) =>
        el(
            "tr",
            {},
            el("td", {}, w.change),
            el("td", { class: "words" }, w.message || `${w.nodes}: ${w.plan}`),
            el("td", { class: "number" }, w.message ? "" : seconds(w.step_s)),
            el("td", { class: "number" }, w.message ? "" : rate(w.tokens_per_s)),
        ),
    );
    part.node.append(
        el("h3", {}, "What if: the best plan then"),
        el(
            "div",
            scrollBox("What if: the best plan then"),
            el(
                "table",
                { class: "what-if" },
                el(
                    "thead",
                    {},
                    el(
                        "tr",
                        {},
                        ["change", "plan", "step", "tokens/s"].map((h, k) =>
                            el("th", { class: k > 1 ? "number" : null }, h),
                        ),
                    ),
                ),
                el("tbody", {}, rows),
            ),
        ),
    );
}
