// Columns of the table of plans, and filters over them. Columns that say nothing are left out:
// parameters that are the same for all, money without prices.
const asNumber = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

function numberColumn(name, head, text) {
    const get = (i) => value(i, name);
    return { name, head, number: true, get, text: (i) => (get(i) === null ? "" : text(get(i))) };
}

function wordColumn(name) {
    const head = { micro_batch: "mbs", seq_parallel: "sp" }[name] || name.replaceAll("_", " "),
        number = /^\d/.test(word(0, name)),
        text = (i) => word(i, name);
    return { name, head, number, get: (i) => asNumber(text(i)), text };
}

function tableColumns() {
    const known = ({ name }) =>
        name in DERIVED || Array.isArray(P.numbers[name]) || figure(0, name) !== null;
    const numbers = [
        numberColumn("step_s", "step", seconds),
        numberColumn("tokens_per_s", "tokens/s", rate),
        numberColumn("mfu", "MFU", (v) => percent(v)),
        numberColumn("memory_gib", "memory", gib),
        numberColumn("usd_per_mtoken", "$/Mtoken", (v) => v.toPrecision(4)),
        numberColumn("hours", "run", (v) => seconds(3600 * v)),
        numberColumn("usd_total", "cost", usd),
    ].filter(known);
    const always = ["tp", "pp", "dp", "micro_batch", "recompute"],
        shown = P.params.map((c) => c.name).filter((n) => always.includes(n) || varies(n)),
        nodes = { name: "nodes", head: "GPUs", get: (i) => figure(i, "gpus") };
    nodes.text = (i) => word(i, "nodes");
    return [numberColumn("rank", "#", String), nodes, ...numbers, ...shown.map(wordColumn)];
}

const SIGNS = {
    "=": (a, b) => a === b,
    "!=": (a, b) => a !== b,
    "<": (a, b) => a < b,
    ">": (a, b) => a > b,
    "<=": (a, b) => a <= b,
    ">=": (a, b) => a >= b,
};

// One word of a filter, "pp>2"; without a sign, or of no column, it is looked for in all cells.
function parseTerm(term, columns) {
    const m = /^([a-z_0-9$/#]+)(<=|>=|!=|=|<|>)(.+)$/.exec(term),
        named = (c) => c.name === m[1] || c.head.toLowerCase().replaceAll(" ", "_") === m[1],
        column = m && columns.find(named);
    if (!column) return (i) => columns.some((c) => c.text(i).toLowerCase().includes(term));
    const wanted = asNumber(m[3]);
    return (i) => {
        const own = column.get(i);
        return SIGNS[m[2]](typeof own === "string" ? own.toLowerCase() : own, wanted);
    };
}

// "tp=4 pp>2 full": each word must hold.
function parseFilter(text, columns) {
    const terms = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    return terms.map((term) => parseTerm(term, columns));
}

// What is not known comes last, numbers before words.
function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
}
