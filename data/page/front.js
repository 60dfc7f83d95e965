// The Pareto front of speed and money, and the listed ones behind them.
// Axes with their ends, ticks and limits are the program's, as in its picture and in the terminal.
const AXIS_TEXT = {
    hours: (v) => seconds(3600 * v),
    usd_total: usd,
    net_tokens_per_s: rate,
    usd_per_mtoken: perToken,
    gpus: count,
};

function frontAxes() {
    const { x, y } = DATA.axes;
    return {
        run: x.figure === "hours",
        x: (i) => value(i, x.figure),
        y: (i) => value(i, y.figure),
        xText: AXIS_TEXT[x.figure],
        yText: AXIS_TEXT[y.figure],
    };
}

const SHAPES = [
    (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    (x, y, r) =>
        `M${x} ${y - 1.3 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.3 * r}L${x - 1.3 * r} ${y}z`,
    (x, y, r) => `M${x} ${y - 1.2 * r}l${1.2 * r} ${2.1 * r}h${-2.4 * r}z`,
];
const TYPE_COLOURS = [1, 7, 3, 5, 6, 9, 4, 2];

// Without any price the front is the fastest plan, of which there is nothing to draw.
const frontPriced = () => DATA.front.some((i) => figure(i, "usd_per_mtoken") !== null);

function frontLead() {
    if (!frontPriced() && (DATA.front.length > 0 || !PRICED))
        return (
            "No price is known for these GPUs, so that there is no front of speed and money: " +
            "--price GPU=USD gives a price."
        );
    if (DATA.front.length === 0) return "No plan is on the front: not every type has a price.";
    return (
        "The Pareto front. Hover shows a plan, a click opens it." +
        (PRICED ? "" : " Plan 1 is not here: no price is known for its GPUs.")
    );
}

function drawFront() {
    if (!DATA.search) return;
    const part = section("front", "Pareto front of speed and money", "Front", frontLead(), "first");
    if (!frontPriced()) return;
    const axes = frontAxes(),
        known = (i) => axes.y(i) !== null && Number.isFinite(axes.x(i)) && axes.x(i) > 0,
        listed = [...Array(DATA.axes.listed).keys()];
    const front = DATA.front.filter(known).sort((a, b) => axes.x(a) - axes.x(b)),
        others = listed.filter((i) => !ON_FRONT.has(i) && known(i)),
        types = [...new Set([...front, ...others].map((i) => word(i, "gpu")))];
    drawn(part, (width) => frontPicture(width, { axes, front, others, types }));
    if (types.length > 1)
        part.node.append(
            legend(
                types.map((name, k) => [typeColour(k), name]),
                typeShape,
            ),
        );
    alternative(part, ["plan", "GPUs", DATA.axes.x.title, DATA.axes.y.title, "strategy"], () =>
        front.map((i) => [
            planName(i),
            word(i, "nodes"),
            axes.xText(axes.x(i)),
            axes.yText(axes.y(i)),
            ways(i),
        ]),
    );
}

// The mark of a type as it is in the picture.
function typeShape(k) {
    const side = 16;
    const d = SHAPES[k % SHAPES.length](side / 2, side / 2, 5);
    return svg(
        "svg",
        { class: "shape", width: side, height: side, "aria-hidden": "true" },
        svg("path", { class: "f" + typeColour(k), d }),
    );
}

const typeColour = (k) => TYPE_COLOURS[k % TYPE_COLOURS.length];

// Pixels of an axis; a narrow one has every second tick.
function axisScale({ lo, hi, log, ticks }, from, to, narrow) {
    const share = log ? (v) => Math.log(v / lo) / Math.log(hi / lo) : (v) => (v - lo) / (hi - lo);
    const scale = (v) => from + share(v) * (to - from),
        text = new Map(ticks);
    scale.ticks = ticks.map(([v]) => v).filter((_, k) => !narrow || k % 2 === 0);
    scale.text = (v) => text.get(v);
    return scale;
}

function frontField(width, { axes }) {
    const height = width < 600 ? 300 : 380,
        field = { left: 62, right: width - 16, top: 14, bottom: height - 44, width, height };
    const x = axisScale(DATA.axes.x, field.left, field.right, width < 600),
        y = axisScale(DATA.axes.y, field.bottom, field.top);
    const px = (i) => x(axes.x(i)),
        py = (i) => y(axes.y(i));
    return { ...field, x, y, px, py };
}

function frontPicture(width, chart) {
    const field = frontField(width, chart),
        { axes, front, others } = chart;
    const picture = canvas(
        width,
        field.height,
        `Pareto front of speed and money: ${front.length} plans on the front, ${others.length} beside it`,
    );
    addFrontAxes(picture, field);
    addLimits(picture, field);
    picture.append(svg("path", { class: "step", d: frontSteps(front, axes, field) }));
    const behind = others.map((i) => addPoint(picture, i, chart, field, true)),
        marks = front.map((i) => addPoint(picture, i, chart, field, false));
    if (axes.y(0) !== null) {
        const ring = { class: "ring", cx: field.px(0), cy: field.py(0), r: 11 };
        picture.append(svg("circle", { ...ring, "pointer-events": "none" }));
    }
    labelFront(picture, front, axes, field);
    listen(picture, [...marks, ...behind]);
    return picture;
}

function addFrontAxes(picture, { x, y, left, right, top, bottom, height }) {
    grid(picture, x, top, bottom, x.text);
    for (const tick of y.ticks) {
        const at = y(tick);
        picture.append(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
        picture.append(label(left - 8, at + 4, y.text(tick), "soft", "end"));
    }
    picture.append(label(right, height - 6, DATA.axes.x.title + " \u2192", "soft", "end"));
    picture.append(label(left + 6, top + 4, "\u2191 " + DATA.axes.y.title, "soft halo"));
}

function addLimits(picture, { x, y, left, right, top, bottom }) {
    const budget = DATA.axes.budget_usd && y(DATA.axes.budget_usd),
        deadline = DATA.axes.deadline_h && x(DATA.axes.deadline_h);
    if (budget)
        picture.append(
            svg("line", { class: "limit", x1: left, x2: right, y1: budget, y2: budget }),
            label(right - 4, budget - 6, "budget", "bad halo", "end"),
        );
    if (deadline)
        picture.append(
            svg("line", { class: "limit", x1: deadline, x2: deadline, y1: top, y2: bottom }),
            label(deadline - 6, bottom - 8, "deadline", "bad halo", "end"),
        );
}

// What a speed costs at least is the price of the next faster plan; what a time costs at least is
// that of the plan which is just in time.
function frontSteps(front, axes, { px, py }) {
    const corner = (i) => (axes.run ? `H${px(i)}V${py(i)}` : `V${py(i)}H${px(i)}`);
    return front.map((i, k) => (k === 0 ? `M${px(i)} ${py(i)}` : corner(i))).join("");
}

// The steps as lines from a to b, and whether one goes through a label.
function frontLines(front, axes, { px, py }) {
    return front.slice(1).flatMap((i, k) => {
        const [a, b] = [front[k], i].map((j) => ({ x: px(j), y: py(j) })),
            corner = axes.run ? { x: b.x, y: a.y } : { x: a.x, y: b.y };
        return [
            [a, corner],
            [corner, b],
        ];
    });
}

function limitLines({ x, y, left, right, top, bottom }) {
    const { budget_usd: budget, deadline_h: deadline } = DATA.axes,
        lines = [];
    if (budget) lines.push([left, right].map((at) => ({ x: at, y: y(budget) })));
    if (deadline) lines.push([top, bottom].map((at) => ({ x: x(deadline), y: at })));
    return lines;
}

function strikes([a, b], { x, y, half }) {
    const inside = (p, q, low, high) => Math.min(p, q) < high && Math.max(p, q) > low;
    return inside(a.x, b.x, x - half - 2, x + half + 2) && inside(a.y, b.y, y - 11, y + 4);
}

function addPoint(picture, i, { types }, { px, py }, beside) {
    const type = types.indexOf(word(i, "gpu"));
    const node = svg("path", {
        d: SHAPES[type % SHAPES.length](px(i), py(i), beside ? 4 : 6),
        class: `${beside ? "beside" : "point"} segment f${typeColour(type)}`,
        opacity: beside ? 0.45 : 1,
    });
    picture.append(node);
    const title = planName(i) + (beside ? "" : ", on the front");
    return { node, title, lines: planLines(i), plan: i };
}

// GPUs of the points, where there is room beside marks and other words: the best plan and both ends
// before others. The steps leave the quarter free that is below, on the right of speeds and on the
// left of times; the best plan is labelled in any case.
function labelFront(picture, front, axes, field) {
    const { px, py, left, right, bottom } = field;
    const taken = front.map((i) => ({ x: px(i), y: py(i) + 4, half: 8, of: i })),
        order = new Set([0, front[0], front[front.length - 1], ...front]),
        lines = [...frontLines(front, axes, field), ...limitLines(field)],
        said = new Set();
    for (const i of order) {
        if (axes.y(i) === null || said.has(word(i, "nodes"))) continue;
        const words = word(i, "nodes").replace(/-[A-Z0-9-]+/g, ""),
            half = words.length * 3.4,
            gap = half + (i === 0 ? 14 : 10),
            sides = axes.run ? [-gap, gap] : [gap, -gap];
        const places = [15, 30, -14, -28]
            .flatMap((down) => sides.map((side) => ({ x: px(i) + side, y: py(i) + down, half })))
            .filter((p) => p.x - half > left && p.x + half < right && p.y < bottom);
        const meets = (p, t) => Math.abs(t.x - p.x) < t.half + half && Math.abs(t.y - p.y) < 15,
            free = (p) =>
                !taken.some((t) => t.of !== i && meets(p, t)) && !lines.some((l) => strikes(l, p)),
            place = (i === 0 ? places : places.slice(0, 2)).find(free) || (i === 0 && places[0]);
        if (!place) continue;
        taken.push(place);
        said.add(word(i, "nodes"));
        picture.append(label(place.x, place.y, words, "halo", "middle"));
    }
}
