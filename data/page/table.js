// All plans. Only the rows in view are in the document, so that thousands cost nothing.
const ROW = 33, // pixels, as the style says
    SPARE = 12, // rows beyond what is seen
    PRINTED = 40;
let TABLE = null; // the one that is shown

function tableLead() {
    const more = `${thousands(DATA.unlisted)} more were found: --format csv has them. `;
    return (
        "The best of each kind, then plans of the front that are not among them. " +
        (DATA.unlisted > 0 ? more : "") +
        "A click opens a plan."
    );
}

function drawTable() {
    if (!DATA.search) return;
    const part = section("plans", "All plans", "Plans", tableLead(), "last"),
        columns = tableColumns(),
        table = { columns, sort: columns[0], down: false, rows: [] };
    makeTable(table);
    part.tools.append(table.filter, el("label", {}, table.onFront, " on the front"), table.shown);
    part.body.append(table.frame);
    const scroll = () => showRows(table, table.rows, false);
    table.filter.addEventListener("input", () => applyTable(table));
    table.onFront.addEventListener("change", () => applyTable(table));
    table.frame.addEventListener("scroll", scroll, { passive: true });
    SECTIONS.push(scroll);
    applyTable(table);
    TABLE = table;
}

addEventListener("beforeprint", () => {
    if (TABLE) showRows(TABLE, TABLE.rows.slice(0, PRINTED), true);
});
addEventListener("afterprint", () => {
    if (TABLE) showRows(TABLE, TABLE.rows, false);
});

function makeTable(table) {
    const region = { class: "plans", tabindex: "0", role: "region", "aria-label": "All plans" };
    table.body = el("tbody", {});
    table.heads = table.columns.map((c) => tableHead(table, c));
    table.node = el("table", {}, el("thead", {}, el("tr", {}, table.heads)), table.body);
    table.frame = el("div", region, table.node);
    table.filter = el("input", {
        type: "search",
        class: "filter",
        placeholder: "filter: tp=4 pp>2 full",
        "aria-label": "filter plans, as in tp=4 pp>2",
    });
    table.onFront = el("input", { type: "checkbox" });
    table.shown = el("span", { "aria-live": "polite" });
}

function tableHead(table, column) {
    const click = () => {
        table.down = table.sort === column && !table.down;
        table.sort = column;
        applyTable(table);
    };
    const { help } = COLUMNS.get(column.name) || {},
        button = el("button", { type: "button", title: help, click }, column.head);
    return el("th", { scope: "col", class: column.number ? "number" : null }, button);
}

// Filters, sorts and shows the first rows.
function applyTable(table) {
    const { tests, unknown } = parseFilter(table.filter.value, table.columns),
        { get } = table.sort,
        sign = table.down ? -1 : 1,
        wanted = (i) => !table.onFront.checked || ON_FRONT.has(i);
    table.rows = [...Array(P.count).keys()].filter((i) => wanted(i) && tests.every((t) => t(i)));
    table.rows.sort((a, b) => compare(get(a), get(b), sign) || a - b);
    table.shown.textContent =
        `${thousands(table.rows.length)} of ${thousands(P.count)}` +
        unknown.map((name) => `, no column ${name}`).join("");
    table.heads.forEach((head, k) => {
        head.removeAttribute("aria-sort");
        if (table.columns[k] === table.sort)
            head.setAttribute("aria-sort", table.down ? "descending" : "ascending");
    });
    table.frame.scrollTop = 0;
    showRows(table, table.rows, false);
}

function showRows({ frame, body, node, columns }, rows, all) {
    const seen = Math.ceil((frame.clientHeight || 500) / ROW) + 2 * SPARE,
        first = all ? 0 : Math.max(0, Math.floor(frame.scrollTop / ROW) - SPARE),
        last = all ? rows.length : Math.min(rows.length, first + seen);
    body.replaceChildren(
        tableSpace(first, columns.length),
        ...rows.slice(first, last).map((i, k) => tableRow(i, first + k, columns)),
        tableSpace(rows.length - last, columns.length),
    );
    node.setAttribute("aria-rowcount", rows.length + 1);
}

// Stands for rows that are not in the document.
function tableSpace(rows, columns) {
    const cell = el("td", { colspan: columns });
    cell.style.height = rows * ROW + "px";
    return el("tr", { class: "space", "aria-hidden": "true" }, cell);
}

function tableRow(i, k, columns) {
    const name = { type: "button", "aria-label": "open " + planName(i) },
        open = el("button", name, i < P.listed ? i + 1 : "front");
    const cells = columns.map((c, n) =>
        el("td", { class: c.number ? "number" : null }, n === 0 ? open : c.text(i)),
    );
    return el("tr", { "aria-rowindex": k + 2, click: () => openPlan(i), "data-plan": i }, cells);
}
