// Memory of each pipeline stage at its fullest moment, against what its GPUs have.
let MEMORY;
let STAGE_TIMES; // what does not run has none

function takeMemory() {
    const colours = [10, 5, 9, 6, 4, 2, 3, 11, 8, 7];
    MEMORY = DATA.stages.parts.map(([name, help], k) => ({ name, help, colour: colours[k % 10] }));
    STAGE_TIMES = DATA.feasible ? ["forward", "backward", "idle"] : [];
}

function memoryPicture(width, plan, marks) {
    const stages = STAGES.get(plan),
        area = memoryArea(stages),
        height = area.top(stages.length - 1) + area.row + 24,
        most = Math.max(...stages.map((s) => Math.max(s.limit, s.device)));
    const x = linear(0, most, area.left, width - 8, width < 500 ? 4 : 6),
        words = `Memory of ${stages.length} stages of ${planName(plan).toLowerCase()}`,
        picture = canvas(width, height, words);
    grid(picture, x, 14, height - 24, (v) => v + (v > 0 ? " GiB" : ""));
    stages.forEach((s, k) => addStage(picture, s, k, x, area, marks));
    stages.forEach((s, k) => addLimit(picture, stages, k, x, area));
    return picture;
}

// Another limit than that of the stage before has a line of its own above its stage, for its name.
const LIMIT_ROOM = 18;
const newLimit = (stages, k) =>
    k === 0 || stages[k - 1].gpu !== stages[k].gpu || stages[k - 1].limit !== stages[k].limit;

function memoryArea(stages) {
    const many = stages.length > 24,
        row = many ? 9 : 26,
        tops = [];
    stages.forEach((_, k) => {
        const before = k === 0 ? -2 : tops[k - 1] + row;
        tops.push(before + (newLimit(stages, k) ? LIMIT_ROOM : 0));
    });
    return { many, row, left: many ? 34 : 62, top: (k) => tops[k] };
}

function addLimit(picture, stages, k, x, { top }) {
    const { limit, gpu } = stages[k],
        types = new Set(stages.map((s) => s.gpu)).size;
    if (!newLimit(stages, k)) return;
    const words = (types > 1 ? gpu + ": " : "") + "limit " + gib(limit);
    picture.append(label(x(limit), top(k) - 6, words, "bad halo limit-name", "end"));
}

function addStage(picture, s, k, x, { many, row, left, top }, marks) {
    const y = top(k);
    const name = many ? k : "stage " + k;
    if (!many || k % 8 === 0)
        picture.append(label(left - 8, y + (many ? 8 : 15), name, "soft", "end"));
    segments(picture, memoryEntries(s, k), x, y, many ? 7 : 20, marks, undefined);
    const at = x(s.limit);
    picture.append(svg("line", { class: "limit", x1: at, x2: at, y1: y - 2, y2: y + row - 2 }));
}

function memoryEntries(s, k) {
    const whole = `${gib(s.device)} of ${gib(s.limit)}`,
        lines = [`${s.layers} layers on ${s.gpus} ${s.gpu}; ${whole}`, `fullest ${s.moment}`];
    let from = 0;
    return MEMORY.map(({ colour, name, help }, m) => {
        const to = from + s.parts[m],
            part = `${gib(s.parts[m])}: ${help}`,
            entry = [colour, from, to, `Stage ${k}: ${name}`, [part, ...lines]];
        from = to;
        return entry;
    });
}

function drawMemory() {
    const part = section(
        "memory",
        "Memory of each stage",
        "Memory",
        "Per GPU at the fullest moment. The dashed line is what may be used of it.",
        "right",
    );
    if (!STAGES.has(0)) {
        part.note.textContent = "The plan could not be computed.";
        return;
    }
    let plan = 0;
    const redraw = drawn(part, (width) => {
        const marks = [],
            picture = memoryPicture(width, plan, marks);
        listen(picture, marks);
        return picture;
    });
    const plans = [...STAGES.keys()].sort((a, b) => a - b);
    if (plans.length > 1)
        part.tools.append(
            select(
                "plan",
                plans.map((i) => [i, planName(i)]),
                (v) => {
                    plan = Number(v);
                    redraw();
                    retell();
                },
            ),
        );
    const inUse = MEMORY.filter((m, k) =>
        [...STAGES.values()].some((stages) => stages.some((s) => s.parts[k] > 0)),
    );
    part.node.append(legend(inUse.map((m) => [m.colour, m.name, m.help])));
    const retell = alternative(part, [...stageHeads(), ...MEMORY.map((m) => m.name)], () =>
        STAGES.get(plan).map(stageRow),
    );
}

const stageHeads = () => ["stage", "GPUs", "layers", ...STAGE_TIMES, "memory", "limit"];

function stageRow(s, k) {
    const times = STAGE_TIMES.map((name) => seconds(s[name])),
        sizes = [s.device, s.limit, ...s.parts].map(gib);
    return [k, `${s.gpus} ${s.gpu}`, s.layers, ...times, ...sizes];
}
