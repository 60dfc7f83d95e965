// The pipeline as it runs. Boxes of a kind on a rank are one path, so that thousands of them are
// drawn at once; what lies under the pointer is looked up.
function timelineLead() {
    const t = DATA.timeline,
        left = t.each - RANKS[0].boxes.length;
    const stages = RANKS.length === 1 ? "1 stage" : `${RANKS.length} stages`;
    const batches = t.micro_batches === 1 ? "1 micro-batch" : `${t.micro_batches} micro-batches`;
    return (
        `${batches} through ${stages}${t.vpp > 1 ? ` of ${t.vpp} virtual stages` : ""}; ` +
        "grey is idle. Drag over a part to zoom in, double-click to see all." +
        (left > 0 ? ` ${thousands(left)} passes in the middle of each stage are left out.` : "")
    );
}

function drawTimeline() {
    const title = "One step of " + (DATA.search ? "plan 1" : "the plan");
    const part = section("timeline", title, "Timeline", "", "first");
    if (!RANKS) {
        part.note.textContent =
            "No picture: the plan is not feasible, or the step has too many passes.";
        return;
    }
    part.note.textContent = timelineLead();
    const redraw = drawn(part, (width) => timelinePicture(width, () => redraw()));
    part.tools.append(...timelineButtons(redraw));
    part.node.append(legend(KINDS.map(([name, colour]) => [colour, name])));
    alternative(part, ["stage", "passes", "first begins", "last ends", "busy"], timelineRows);
}

function timelineRows() {
    const step = figure(0, "step_s"),
        at = (units) => seconds((units / STEP_UNITS) * step);
    return RANKS.map(({ boxes }, k) => [
        k,
        DATA.timeline.each,
        at(boxes[0].start),
        at(boxes[boxes.length - 1].end),
        STAGES.has(0) ? seconds(step - STAGES.get(0)[k].idle) : "",
    ]);
}

function timelineButtons(redraw) {
    const button = (text, name, act) => {
        const click = () => {
            act();
            redraw();
        };
        return el("button", { type: "button", "aria-label": name, title: name, click }, text);
    };
    const shift = (share) => {
        const by = (VIEW.to - VIEW.from) * share;
        look(VIEW.from + by, VIEW.to + by);
    };
    return [
        button("+", "zoom in", () => zoomView(0.5)),
        button("\u2212", "zoom out", () => zoomView(2)),
        button("\u2190", "earlier", () => shift(-0.4)),
        button("\u2192", "later", () => shift(0.4)),
        button("All", "the whole step", () => look(0, STEP_UNITS)),
    ];
}

// Paths by kind: [forward, backward, recomputation, communication, edges], and how many passes.
function rankPaths(rank, area, y, height) {
    const paths = KINDS.map(() => []),
        { x } = area;
    const push = (kind, from, to, gap) => {
        const a = Math.max(area.left, x(from)),
            b = Math.min(area.right, x(to)) - gap;
        if (to > from && b > a)
            paths[kind].push(`M${a.toFixed(2)} ${y}H${b.toFixed(2)}v${height}H${a.toFixed(2)}z`);
    };
    const shown = boxesInView(RANKS[rank].boxes);
    for (const b of shown) {
        const again = b.start + b.parts[0],
            done = again + b.parts[1],
            gap = x(b.end) - x(b.start) > 14 ? 0.7 : 0; // passes of one kind stay apart
        push(2, b.start, again, 0);
        push(b.backward, again, done, b.end > done ? 0 : gap);
        push(3, done, b.end, gap);
    }
    for (const e of RANKS[rank].edges) push(4, e.start, e.end, 0);
    return { paths, passes: shown.length };
}

// Where things lie: x in pixels of a moment, rows of ranks.
function timelineArea(width, redraw) {
    const many = RANKS.length > 24,
        row = many ? Math.max(5, Math.floor(480 / RANKS.length)) : 34,
        left = many ? 34 : 62,
        right = width - 8;
    const x = (u) => left + ((u - VIEW.from) / (VIEW.to - VIEW.from)) * (right - left);
    const bar = row - (many ? 1 : 8);
    return { x, row, bar, many, left, right, width, height: RANKS.length * row + 30, redraw };
}

function timelinePicture(width, redraw) {
    const area = timelineArea(width, redraw);
    const picture = canvas(
        width,
        area.height,
        `One step: ${RANKS.length} stages, ${RANKS[0].boxes.length} passes each. ` +
            "Arrows walk through passes and stages, plus and minus zoom.",
    );
    addTimes(picture, area);
    let passes = 0;
    RANKS.forEach((_, rank) => (passes += addRank(picture, rank, area)));
    picture.setAttribute("data-passes", passes);
    followTimeline(picture, area);
    return picture;
}

function addTimes(picture, area) {
    const step = figure(0, "step_s"),
        time = (units) => (units / STEP_UNITS) * step;
    const axis = linear(time(VIEW.from), time(VIEW.to), 0, 1, area.width < 600 ? 3 : 8);
    for (const tick of axis.ticks) {
        const at = area.x((tick / step) * STEP_UNITS);
        if (at < area.left - 1 || at > area.right + 1) continue;
        picture.append(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: area.height - 24 }));
        const words = tick === 0 ? "0" : seconds(tick),
            x = Math.min(at, area.right - 16);
        picture.append(label(x, area.height - 8, words, "soft", "middle"));
    }
}

// One rank; returns how many passes of it are in view.
function addRank(picture, rank, area) {
    const y = 2 + rank * area.row,
        { left, right, bar, many } = area;
    const name = many ? rank : "stage " + rank;
    if (!many || rank % 8 === 0)
        picture.append(label(left - 8, y + bar / 2 + 4, name, "soft", "end"));
    picture.append(svg("rect", { class: "track", x: left, y, width: right - left, height: bar }));
    const { paths, passes } = rankPaths(rank, area, y, bar);
    paths.forEach((d, kind) => {
        const shape = { class: "f" + KINDS[kind][1], d: d.join(""), "data-boxes": d.length };
        if (d.length) picture.append(svg("path", shape));
    });
    addGap(picture, rank, area, y);
    if (!many) addNumbers(picture, RANKS[rank].boxes, area, y);
    return passes;
}

function addGap(picture, rank, area, y) {
    const { gap } = RANKS[rank];
    if (!gap || gap.end < VIEW.from || gap.start > VIEW.to) return;
    const a = Math.max(area.left, area.x(gap.start)),
        b = Math.min(area.right, area.x(gap.end));
    picture.append(svg("rect", { class: "gap", x: a, y, width: b - a, height: area.bar }));
    if (rank === RANKS.length >> 1 && b - a > 120)
        picture.append(label((a + b) / 2, y + 4, "left out here, not idle", "halo", "middle"));
}

// The micro-batch inside a box, where it has room.
function addNumbers(picture, boxes, area, y) {
    for (const b of boxesInView(boxes)) {
        const from = Math.max(area.left, area.x(b.start)),
            to = Math.min(area.right, area.x(b.end)),
            middle = (from + to) / 2;
        if (to - from > 9 + 7 * String(b.micro).length)
            picture.append(label(middle, y + area.bar / 2 + 4, b.micro, "inside", "middle"));
    }
}
