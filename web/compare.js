// Up to four answers side by side. Rows in which they differ are marked, and the best of a row.
const PINS = [];
const MOST_PINS = 4;

// Figures of plan 1 as they stand on its card: [name, text, number, 1 where more is better or -1].
function summaryRows() {
    const step = figure(0, "step_s"),
        money = figure(0, "usd_per_mtoken"),
        hours = figure(0, "hours"),
        total = figure(0, "usd_total"),
        mfu = figure(0, "mfu");
    const rows = [
        ["GPUs", word(0, "nodes")],
        ["fits", DATA.feasible ? "yes" : "no"],
        [
            "memory, fullest stage",
            figure(0, "memory_gib") === null ? "" : gib(figure(0, "memory_gib")),
        ],
    ];
    if (step !== null)
        rows.push(
            [
                "throughput",
                rate(value(0, "tokens_per_s")) + " tokens/s",
                value(0, "tokens_per_s"),
                1,
            ],
            [
                "per GPU",
                rate(value(0, "tokens_per_s") / figure(0, "gpus")),
                value(0, "tokens_per_s") / figure(0, "gpus"),
                1,
            ],
            ["step", `${seconds(step)} ${errorOf(0)}`, step],
        );
    if (mfu !== null) rows.push(["MFU", percent(mfu), mfu, 1]);
    if (money !== null) rows.push(["USD per million tokens", perToken(money), money, -1]);
    if (figure(0, "usd_per_hour"))
        rows.push(["USD an hour", usd(figure(0, "usd_per_hour")), figure(0, "usd_per_hour"), -1]);
    if (hours !== null) rows.push(["run", seconds(3600 * hours), hours, -1]);
    if (total !== null && total !== undefined)
        rows.push(["cost of the run", usd(total), total, -1]);
    const params = P.params.map((c) => [c.name.replaceAll("_", " "), word(0, c.name)]);
    return [...rows, ...params];
}

async function pin(question, { early }) {
    const address = await addressOf(question);
    if (PINS.length === MOST_PINS) PINS.shift();
    const rows = summaryRows();
    PINS.push({
        title: titleOf(question),
        address,
        early,
        figures: rows.length - P.params.length,
        rows: new Map(rows.map(([name, ...more]) => [name, more])),
    });
    drawCompare();
    speak(`Pinned, ${PINS.length} of ${MOST_PINS}`);
}

function compareRow(name) {
    const cells = PINS.map((p) => p.rows.get(name) || [""]),
        texts = cells.map(([text]) => text),
        differs = new Set(texts).size > 1,
        better = (cells.find((c) => c[2]) || [])[2],
        best =
            better && differs
                ? Math.max(...cells.map((c) => (c[1] === undefined ? -Infinity : better * c[1])))
                : null;
    return el(
        "tr",
        { class: differs ? "differs" : "alike" },
        el("th", { scope: "row" }, name),
        cells.map(([text, number]) => {
            const first = best !== null && better * number === best;
            return el(
                "td",
                { class: first ? "best" : null },
                text || "\u2013",
                first ? el("span", { class: "hidden" }, " (best)") : "",
            );
        }),
    );
}

let wholeCompare = false; // rows that are alike too

// Of one answer the figures; of several what differs, and the rest when it is asked for.
function compareRows() {
    const names = [...new Set(PINS.flatMap((p) => [...p.rows.keys()]))],
        rows = names.map(compareRow),
        differ = rows.filter((row) => row.className === "differs");
    if (wholeCompare) return { rows, left: 0 };
    const shown = PINS.length === 1 ? rows.slice(0, PINS[0].figures) : differ;
    return { rows: shown, left: rows.length - shown.length };
}

function drawCompare() {
    const box = byId("compare");
    box.hidden = PINS.length === 0;
    if (box.hidden) return;
    const { rows, left } = compareRows();
    const all = button(
        wholeCompare ? "Only what differs" : `${left} more rows`,
        () => {
            wholeCompare = !wholeCompare;
            drawCompare();
            byId("compare-all").focus();
        },
        { id: "compare-all", class: "link" },
    );
    const heads = PINS.map((p, k) =>
        el(
            "th",
            { scope: "col" },
            el("a", { href: p.address }, p.title),
            p.early ? el("span", { class: "soft" }, " (not searched to the end)") : "",
            button("\u00d7", () => unpin(k), {
                class: "remove",
                "aria-label": `remove ${p.title}`,
            }),
        ),
    );
    box.replaceChildren(
        el(
            "div",
            { class: "card-head" },
            el("h2", { id: "compare-title" }, "Compare"),
            el(
                "span",
                { class: "soft" },
                PINS.length === 1
                    ? "Pin another answer to see what differs."
                    : "What differs; the best of a row in green.",
            ),
        ),
        el(
            "div",
            scrollBox("Pinned answers"),
            el(
                "table",
                { class: "compare" },
                el("thead", {}, el("tr", {}, el("td", {}), heads)),
                el("tbody", {}, rows),
            ),
        ),
        left > 0 || wholeCompare ? all : "",
    );
}

function unpin(k) {
    PINS.splice(k, 1);
    drawCompare();
    const next = document.querySelector("#compare .remove") || byId("pin");
    if (next) next.focus();
}
