// The plans by column, as the program wrote them, and what follows from their figures.
let P, COLUMNS, PARTS, TOKENS_PER_STEP, STAGES;
let ON_FRONT;
let PRICED; // plan 1, with which others are compared
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

function takePlans() {
    P = DATA.plans;
    COLUMNS = new Map([...P.words, ...P.params].map((c) => [c.name, c]));
    PARTS = Object.keys(P.breakdown);
    TOKENS_PER_STEP = DATA.batch * DATA.seq_len;
    ON_FRONT = new Set(DATA.front);
    PRICED = figure(0, "usd_per_mtoken") !== null;
    STAGES = new Map(DATA.stages.plans.map(([i, stages]) => [i, stages.map(readStage)]));
}

function word(i, name) {
    const c = COLUMNS.get(name);
    if (!c.at) return c.words[0];
    return c.words[typeof c.at === "string" ? DIGITS.indexOf(c.at[i]) : c.at[i]];
}

function figure(i, name) {
    const v = P.numbers[name];
    return Array.isArray(v) ? v[i] : v;
}

const DERIVED = {
    tokens_per_s: (i) => figure(i, "step_s") && TOKENS_PER_STEP / figure(i, "step_s"),
    net_tokens_per_s: (i) => value(i, "tokens_per_s") / (figure(i, "slowdown") || 1),
    tflops: (i) =>
        DATA.tflop_per_token === null
            ? null
            : (DATA.tflop_per_token * value(i, "tokens_per_s")) / figure(i, "gpus"),
    rank: (i) => (i < P.listed ? i + 1 : null),
};

const value = (i, name) => (name in DERIVED ? DERIVED[name](i) : figure(i, name));
const varies = (name) => Boolean(COLUMNS.get(name).at);
const planName = (i) =>
    !DATA.search
        ? "The plan"
        : i < P.listed
          ? "Plan " + (i + 1)
          : "Front plan " + (i - P.listed + 1);

function pipeline(i) {
    const vpp = word(i, "vpp");
    return word(i, "pp") + (vpp === "1" ? "" : "x" + vpp);
}

// "tp 4, pp 4x7, dp 32, micro-batch 1, recompute full"
function ways(i) {
    const more = (name) => (word(i, name) === "1" ? "" : `${name} ${word(i, name)}, `);
    return (
        `tp ${word(i, "tp")}, ${more("cp")}pp ${pipeline(i)}, dp ${word(i, "dp")}, ${more("ep")}` +
        `micro-batch ${word(i, "micro_batch")}, recompute ${word(i, "recompute")}`
    );
}

function shares(i) {
    return PARTS.map((part) => P.breakdown[part][i] || 0);
}

// Flags of a plan are those of plan 1 but for some that go and some that come; what comes takes the
// place of a flag of the same name.
function flags(i) {
    const { words, first, differ } = DATA.flags;
    if (!differ[i]) return null;
    const name = (k) => words[k].split(" ")[0];
    const own = new Set(first),
        gone = new Set(differ[i].filter((k) => own.has(k)));
    let come = differ[i].filter((k) => !own.has(k));
    const list = [];
    for (const k of first) {
        if (!gone.has(k)) {
            list.push(words[k]);
            continue;
        }
        const instead = come.find((c) => name(c) === name(k));
        if (instead !== undefined) {
            list.push(words[instead]);
            come = come.filter((c) => c !== instead);
        }
    }
    return behindPlan([...list, ...come.map((k) => words[k])]);
}

// What is trained stands behind how it is trained: the first lines are those that matter.
function behindPlan(list) {
    const model = new Set(DATA.flags.model.map((k) => DATA.flags.words[k]));
    return [...list.filter((text) => !model.has(text)), ...list.filter((text) => model.has(text))];
}

const readStage = (s) => ({
    gpu: s[0],
    gpus: s[1],
    layers: s[2],
    forward: s[3],
    backward: s[4],
    idle: s[5],
    moment: s[6],
    limit: s[7] / 1024,
    device: s[8] / 1024,
    parts: s.slice(9).map((mib) => mib / 1024),
});

const BREAKDOWN = {
    compute: [1, "compute"],
    recompute: [2, "recomputation"],
    tp: [3, "tensor parallel"],
    cp: [4, "context parallel"],
    ep: [5, "experts"],
    pp: [6, "pipeline transfers"],
    dp: [7, "data parallel"],
    bubble: [8, "bubble: waiting for other stages"],
    optimizer: [9, "optimizer"],
};

function errorOf(i) {
    const share = figure(i, "expected_error");
    return share === null ? "" : `\u00b1${percent(share, 0)}`;
}

// What a tooltip says of a plan.
function planLines(i) {
    const lines = [
        `${word(i, "nodes")}: ${ways(i)}`,
        `${rate(value(i, "tokens_per_s"))} tokens/s, ` +
            `step ${seconds(figure(i, "step_s"))} ${errorOf(i)}`,
    ];
    if (figure(i, "usd_per_mtoken") !== null)
        lines.push(`${perToken(figure(i, "usd_per_mtoken"))} per million tokens`);
    if (figure(i, "hours") !== null)
        lines.push(
            `the run: ${seconds(3600 * figure(i, "hours"))}` +
                (figure(i, "usd_total") !== null ? `, ${usd(figure(i, "usd_total"))}` : ""),
        );
    lines.push(`memory ${figure(i, "memory_gib").toFixed(1)} of ${gib(figure(i, "limit_gib"))}`);
    return lines;
}
