// Elements are made here and nowhere else. Text is always text: nothing is parsed as markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (typeof value === "function") node.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false)
            node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat())
        if (child !== null && child !== undefined && child !== false)
            node.append(child instanceof Node ? child : String(child));
    return node;
}

const el = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

// A section with a heading, tools beside it, a line on how to read it, and room for its chart.
// Places are rows over the whole width, and two columns between them.
const SECTIONS = [];
function section(id, title, short, lead, place) {
    const tools = el("div", { class: "tools" });
    const head = el("div", { class: "chart-head" }, el("h2", { id: id + "-title" }, title), tools);
    const body = el("div", { class: "body" });
    const note = el("p", { class: "lead" }, lead);
    const node = el(
        "section",
        { id, class: "chart", "aria-labelledby": id + "-title" },
        head,
        note,
        body,
    );
    byId(place).append(node);
    byId("contents").append(el("a", { href: "#" + id }, short));
    return { id, title, node, tools, body, note };
}

// Charts are drawn for the width they have, again when it changes.
function drawn(part, draw) {
    const redraw = () => {
        const width = Math.max(260, Math.floor(part.body.clientWidth));
        part.body.replaceChildren(...[draw(width)].flat());
    };
    SECTIONS.push(redraw);
    redraw();
    return redraw;
}

function legend(entries) {
    return el(
        "ul",
        { class: "legend" },
        entries.map(([colour, name, help]) =>
            el(
                "li",
                { title: help },
                el("span", { class: "swatch f" + colour, "aria-hidden": "true" }),
                name,
            ),
        ),
    );
}

// What a chart shows, for those who read it as a table. It is made when it is opened.
function alternative(part, heads, rows) {
    const box = el("details", { class: "alternative" }, el("summary", {}, "The same as a table"));
    box.addEventListener("toggle", () => {
        if (!box.open || box.querySelector("table")) return;
        const head = el(
            "tr",
            {},
            heads.map((h) => el("th", { scope: "col" }, h)),
        );
        const body = rows().map((row) =>
            el(
                "tr",
                {},
                row.map((cell) => el("td", {}, cell)),
            ),
        );
        box.append(
            el(
                "div",
                { class: "scroll", tabindex: "0", role: "region", "aria-label": part.title },
                el("table", {}, el("thead", {}, head), el("tbody", {}, body)),
            ),
        );
    });
    part.node.append(box);
}

function select(label, options, change) {
    const box = el(
        "select",
        { change: () => change(box.value) },
        options.map(([value, name]) => el("option", { value }, name)),
    );
    return el("label", {}, el("span", { class: "hidden" }, label), box);
}

async function copyText(text, button) {
    const before = button.textContent;
    let done = false;
    try {
        await navigator.clipboard.writeText(text);
        done = true;
    } catch {
        const area = el("textarea", { class: "hidden", readonly: true });
        area.value = text;
        (button.closest("dialog") || document.body).append(area);
        area.select();
        done = document.execCommand("copy");
        area.remove();
    }
    button.textContent = done ? "Copied" : "Select and copy by hand";
    speak(button.textContent);
    setTimeout(() => {
        button.textContent = before;
    }, 1600);
}

function speak(text) {
    byId("spoken").textContent = text;
}
