// The best plan: what it does, what it costs, and the flags that launch it.
function tile(name, text, ...more) {
    return el(
        "div",
        { class: "tile" },
        el("div", { class: "name" }, name),
        el("div", { class: "value" }, text),
        more.map((m) => (m instanceof Node ? m : m && el("div", { class: "more" }, m))),
    );
}

// How long a step may take in truth, on a line from 0.
function errorBar(step, share) {
    const low = step * (1 - share),
        high = step * (1 + share),
        most = high * 1.08,
        x = (v) => (v / most) * 200;
    return svg(
        "svg",
        {
            viewBox: "0 0 200 14",
            role: "img",
            "aria-label": `${seconds(low)} to ${seconds(high)} expected`,
        },
        svg("rect", { class: "track", x: 0, y: 4, width: 200, height: 6, rx: 3 }),
        svg("rect", { class: "f2", x: x(low), y: 4, width: x(high - low), height: 6, rx: 3 }),
        svg("rect", { class: "f1", x: x(step) - 1.5, y: 0, width: 3, height: 14, rx: 1.5 }),
    );
}

function meter(share) {
    return svg(
        "svg",
        {
            viewBox: "0 0 200 14",
            role: "img",
            "aria-label": percent(share, 0) + " of the memory that may be used",
        },
        svg("rect", { class: "track", x: 0, y: 4, width: 200, height: 6, rx: 3 }),
        svg("rect", {
            class: share > 1 ? "over" : "f1",
            x: 0,
            y: 4,
            width: Math.min(200, 200 * share),
            height: 6,
            rx: 3,
        }),
    );
}

function tiles(i) {
    const step = figure(i, "step_s"),
        share = figure(i, "expected_error");
    if (figure(i, "memory_gib") === null) return [];
    const memory = tile(
        "memory, fullest stage",
        gib(figure(i, "memory_gib")),
        meter(figure(i, "memory_gib") / figure(i, "limit_gib")),
        `of ${gib(figure(i, "limit_gib"))} to use`,
    );
    if (step === null) return [memory];
    const list = [
        tile(
            "throughput",
            [rate(value(i, "tokens_per_s")), el("small", {}, " tokens/s")],
            `${rate(value(i, "tokens_per_s") / figure(i, "gpus"))} per GPU`,
        ),
        tile(
            "step",
            seconds(step),
            share !== null && errorBar(step, share),
            share !== null && `\u00b1${percent(share, 0)}, ${word(i, "provenance")}`,
        ),
        memory,
    ];
    const perM = figure(i, "usd_per_mtoken");
    list.push(
        perM === null
            ? tile("money", "no price", "--price GPU=USD gives one")
            : tile(
                  "money",
                  perToken(perM),
                  "per million tokens",
                  `${usd(figure(i, "usd_per_hour"))} an hour`,
              ),
    );
    if (figure(i, "hours") !== null) {
        const total = figure(i, "usd_total");
        list.push(
            tile(
                `run of ${rate(DATA.tokens || 0)} tokens`,
                seconds(3600 * figure(i, "hours")),
                total !== null && usd(total),
            ),
        );
    }
    const tflops = value(i, "tflops"),
        mfu = figure(i, "mfu");
    if (tflops)
        list.push(
            tile(
                "efficiency",
                mfu === null ? tflops.toFixed(0) + " TFLOP/s" : percent(mfu) + " MFU",
                mfu !== null && `${tflops.toFixed(0)} TFLOP/s per GPU`,
            ),
        );
    return list;
}

// Parameters as chips; those that differ from plan 1 stand out.
const ALWAYS = ["tp", "cp", "pp", "vpp", "dp", "ep", "micro_batch", "seq_parallel", "recompute"];
const ASKED = ["global_batch", "seq_len", "precision"];
const PLAIN = new Set(["0", "1", "off", "none", "even", "auto", "p2p", "allgather"]);

function chips(i) {
    const shown = P.params
        .map((c) => c.name)
        .filter(
            (name) =>
                !ASKED.includes(name) &&
                ((ALWAYS.includes(name) &&
                    !(
                        ["cp", "ep", "vpp"].includes(name) &&
                        word(i, name) === "1" &&
                        word(0, name) === "1"
                    )) ||
                    word(i, name) !== word(0, name) ||
                    (!PLAIN.has(word(i, name)) &&
                        !(name === "moments_bytes" && word(i, name) === "4"))),
        );
    return el(
        "ul",
        { class: "chips" },
        shown.map((name) =>
            el(
                "li",
                {
                    class: word(i, name) !== word(0, name) ? "other" : null,
                    title: COLUMNS.get(name).help,
                },
                name.replaceAll("_", " ") + " ",
                el("b", {}, word(i, name)),
            ),
        ),
    );
}

function flagBox(i) {
    const list = flags(i);
    if (!list) return el("p", { class: "soft" }, "No flags describe this plan.");
    const text = list.join(" \\\n    "),
        env = word(i, "env");
    const button = el("button", { type: "button", class: "copy" }, "Copy flags");
    button.addEventListener("click", () => copyText(text, button));
    return el(
        "div",
        { class: "flags" },
        el(
            "header",
            {},
            el(
                "span",
                {},
                `Flags for ${word(i, "engine") === "flagscale" ? "FlagScale" : "Megatron-LM"}` +
                    (env ? `, with ${env}` : ""),
            ),
            button,
        ),
        el("pre", { tabindex: "0", "aria-label": "launch flags" }, el("code", {}, text)),
    );
}

const listOf = (items, kind) =>
    items.length
        ? el(
              "ul",
              { class: "notes" },
              items.map((text) => el("li", { class: kind }, text)),
          )
        : "";

// What is known to go wrong with such a plan: a line each.
function cautions(i) {
    const text = word(i, "cautions");
    return listOf(text ? text.split("\n").map((line) => "Mind: " + line) : [], "caution");
}

// What would make the plan fit, or faster, and what Astra would run: of a plan that was given.
function advice() {
    return DATA.advice.flatMap((a) => [
        a.heading ? el("h3", {}, a.heading) : "",
        listOf(a.items, "advice"),
    ]);
}

function drawCard() {
    const bad = !DATA.feasible;
    byId("card").append(
        el(
            "div",
            { class: "card-head" },
            el("h2", {}, word(0, "nodes")),
            el(
                "span",
                { class: bad ? "badge bad" : "badge" },
                bad ? "not feasible" : DATA.badge || (DATA.search ? "best plan" : "feasible"),
            ),
        ),
        listOf(bad ? DATA.reasons : [], "bad"),
        cautions(0),
        ...advice(),
        el("div", { class: "tiles" }, tiles(0)),
        chips(0),
        flagBox(0),
        listOf(DATA.notes, null),
    );
}
