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
        numberColumn("usd_per_mtoken", "$/Mtoken", mtoken),
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
    "=": (a, b) => sameWord(a, b),
    "!=": (a, b) => !sameWord(a, b),
    "<": (a, b) => a < b,
    ">": (a, b) => a > b,
    "<=": (a, b) => a <= b,
    ">=": (a, b) => a >= b,
};

// "sel layernorm" is selective: the first word of several stands for what it begins.
function sameWord(own, wanted) {
    if (own === wanted) return true;
    const [first, ...more] = typeof own === "string" ? own.split(" ") : [];
    return more.length > 0 && typeof wanted === "string" && wanted.startsWith(first);
}

// "400k", "1.5m", "40%"; a word where it is no number.
function amount(text) {
    const m = /^(-?[\d.]+(?:e[-+]?\d+)?)([kmbt%]?)$/.exec(text),
        factor = { k: 1e3, m: 1e6, b: 1e9, t: 1e12, "%": 0.01 };
    return m && Number.isFinite(Number(m[1])) ? Number(m[1]) * (factor[m[2]] || 1) : text;
}

// What a column may be asked for: those of the table, then parameters that all plans share.
function findColumn(name, columns) {
    const named = (c) => c.name === name || c.head.toLowerCase().replaceAll(" ", "_") === name,
        hidden = [...COLUMNS.keys()].find((n) => n === name);
    return columns.find(named) || (hidden && wordColumn(hidden));
}

// Shares may be given as per cent: an MFU of 40 is 0.4.
const wantedOf = (column, text) => {
    const v = amount(text);
    return column.name === "mfu" && v > 1 ? v / 100 : v;
};

// Where the types of a plan have values of their own, "8/4", one of them must hold; what is not
// known holds for nothing.
function testOf(column, sign, text) {
    const wanted = text.split(",").map((t) => wantedOf(column, t)),
        holds = SIGNS[sign],
        all = sign === "!=";
    const each = (own) => wanted[all ? "every" : "some"]((w) => holds(own, w));
    return (i) => {
        const own = column.get(i);
        if (own === null || own === undefined) return false;
        if (typeof own === "number") return each(own);
        return own.toLowerCase().split("/").map(asNumber)[all ? "every" : "some"](each);
    };
}

// One word of a filter, "pp>2"; without a sign it is looked for in all cells.
function parseTerm(term, columns, unknown) {
    const m = /^([^<>=!]+)(<=|>=|!=|==|=|<|>)(.+)$/.exec(term);
    if (!m) return (i) => columns.some((c) => c.text(i).toLowerCase().includes(term));
    const column = findColumn(m[1], columns);
    if (column) return testOf(column, m[2] === "==" ? "=" : m[2], m[3]);
    unknown.push(m[1]);
    return () => true;
}

// "tp=4 pp>2 full": each word must hold. Names of no column are told.
function parseFilter(text, columns) {
    const terms = text.trim().toLowerCase().split(/\s+/).filter(Boolean),
        unknown = [];
    return { tests: terms.map((term) => parseTerm(term, columns, unknown)), unknown };
}

// What is not known comes last in both directions, numbers before words.
function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === typeof b) return a < b ? -sign : a > b ? sign : 0;
    return typeof a === "number" ? -sign : sign;
}
