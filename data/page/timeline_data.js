// One step of plan 1: passes by rank, in parts of the step.
let STEP_UNITS;
const KINDS = [
    ["forward", 1],
    ["backward", 11],
    ["recomputation", 2],
    ["exposed communication", 7],
    ["optimizer, reduction, gather", 9],
];

function readTimeline() {
    const t = DATA.timeline;
    if (!t) return null;
    const pp = t.ranks.length;
    return t.ranks.map(({ passes, edges }, rank) => {
        const boxes = [];
        let start = 0;
        for (let k = 0; k < passes.length; k += 2) {
            start += passes[k];
            const code = passes[k + 1],
                backward = code % 2,
                chunk = Math.floor(code / 2) % t.vpp;
            const parts = t.shapes[chunk * pp + rank][backward];
            boxes.push({
                start,
                end: start + parts[0] + parts[1] + parts[2],
                parts,
                backward,
                chunk,
                micro: Math.floor(code / 2 / t.vpp),
            });
        }
        // Where passes were left out, the rank's list has its first half and its last.
        const cut = t.each > boxes.length ? t.half : -1;
        const gap = cut < 0 ? null : { start: boxes[cut - 1].end, end: boxes[cut].start };
        return {
            boxes,
            gap,
            edges: edges.map(([name, from, to]) => ({ name, start: from, end: to })),
        };
    });
}

// The first box that ends behind a moment: boxes of a rank follow each other.
function firstAfter(boxes, moment) {
    let low = 0,
        high = boxes.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (boxes[middle].end > moment) high = middle;
        else low = middle + 1;
    }
    return low;
}

function boxWords(rank, box) {
    const t = DATA.timeline,
        time = (units) => seconds((units / STEP_UNITS) * figure(0, "step_s"));
    if (box.name)
        return [
            `Stage ${rank}: ${box.name}`,
            [`${time(box.end - box.start)}, from ${time(box.start)}`],
        ];
    const lines = [`${time(box.end - box.start)}, from ${time(box.start)}`];
    if (t.vpp > 1) lines.push(`virtual stage ${box.chunk * t.ranks.length + rank}`);
    if (box.parts[0]) lines.push(`of it recomputation ${time(box.parts[0])}`);
    if (box.parts[2]) lines.push(`of it communication ${time(box.parts[2])}`);
    return [
        `Stage ${rank}: ${box.backward ? "backward" : "forward"} of micro-batch ${box.micro}`,
        lines,
    ];
}
