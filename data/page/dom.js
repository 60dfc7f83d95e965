// Elements are made here and nowhere else. Text is always text: nothing is parsed as markup.
let DATA = null; // the answer that is shown
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
const PLACES = ["contents", "card", "first", "left", "right", "last", "foot"];
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

// `mark`: what stands before entry k, a swatch of its colour unless it is given.
function legend(entries, mark) {
    const swatch = (k) => el("span", { class: "swatch f" + entries[k][0], "aria-hidden": "true" });
    return el(
        "ul",
        { class: "legend" },
        entries.map(([, name, help], k) => el("li", { title: help }, (mark || swatch)(k), name)),
    );
}

// A box that scrolls sideways must be reached by keys, and have a name.
const scrollBox = (name) => ({
    class: "scroll",
    tabindex: "0",
    role: "region",
    "aria-label": name,
});

// What a chart shows, for those who read it as a table. It is made when it is opened, and again
// by what is returned when the chart shows something else.
function alternative(part, heads, rows) {
    const box = el("details", { class: "alternative" }, el("summary", {}, "The same as a table"));
    const make = () => {
        const row = (tag, cells, attributes) =>
            el(
                "tr",
                {},
                cells.map((cell) => el(tag, attributes, cell)),
            );
        const head = el("thead", {}, row("th", heads, { scope: "col" })),
            body = rows().map((cells) => row("td", cells, {}));
        return el("div", scrollBox(part.title), el("table", {}, head, el("tbody", {}, body)));
    };
    const renew = () => {
        if (box.lastChild.tagName === "DIV") box.lastChild.remove();
        if (box.open) box.append(make());
    };
    box.addEventListener("toggle", () => {
        if (box.open && box.lastChild.tagName !== "DIV") renew();
    });
    part.node.append(box);
    return renew;
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
