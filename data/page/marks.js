// Marks of a chart by pointer and by key: hover or arrows show what a mark is, click or Enter opens
// its plan. A mark is {node, title, lines, plan}; plan may be missing.
const TIP = byId("tip");

function showTip(mark, x, y) {
    TIP.replaceChildren(el("b", {}, mark.title), ...mark.lines.map((line) => el("div", {}, line)));
    TIP.hidden = false;
    const box = TIP.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const top = y + 18 + box.height < innerHeight ? y + 18 : Math.max(8, y - box.height - 12);
    TIP.style.left = left + "px";
    TIP.style.top = top + "px";
}

function hideTip() {
    TIP.hidden = true;
}

// A chart that takes part. `label` is what a screen reader says of it as a whole.
function canvas(width, height, label) {
    return svg("svg", {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        "aria-label": label,
    });
}

const openMark = (mark) => {
    if (mark.plan !== undefined) openPlan(mark.plan);
};

function listen(picture, marks) {
    let at = -1;
    const activate = (next) => {
        if (marks[at]) marks[at].node.classList.remove("active");
        at = next;
        const mark = marks[at];
        if (!mark) return hideTip();
        mark.node.classList.add("active");
        const box = mark.node.getBoundingClientRect();
        showTip(mark, box.left + box.width / 2, box.top + box.height / 2);
        speak([mark.title, ...mark.lines].join(". "));
    };
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    picture.setAttribute("tabindex", "0");
    picture.setAttribute("role", "application");
    picture.setAttribute("aria-roledescription", "chart");
    picture.addEventListener("keydown", (e) => {
        if (e.key in steps) activate((at + steps[e.key] + marks.length) % marks.length);
        else if (e.key === "Home") activate(0);
        else if (e.key === "End") activate(marks.length - 1);
        else if (e.key === "Enter" && marks[at]) openMark(marks[at]);
        else if (e.key === "Escape") return hideTip();
        else return;
        e.preventDefault();
    });
    picture.addEventListener("blur", () => activate(-1));
    for (const mark of marks) {
        mark.node.classList.add("mark");
        mark.node.addEventListener("pointermove", (e) => showTip(mark, e.clientX, e.clientY));
        mark.node.addEventListener("pointerleave", hideTip);
        mark.node.addEventListener("click", () => openMark(mark));
    }
}

addEventListener("scroll", hideTip, { passive: true, capture: true });

// One bar of several parts, from the left: entries are [colour, from, to, title, lines].
function segments(parent, entries, x, y, height, marks, plan) {
    for (const [colour, from, to, title, lines] of entries) {
        if (!(to > from)) continue;
        const node = svg("rect", {
            class: "segment f" + colour,
            x: x(from),
            y,
            width: Math.max(0.5, x(to) - x(from)),
            height,
        });
        parent.append(node);
        marks.push({ node, title, lines, plan });
    }
}

// Words of a chart; the pointer looks through them.
function label(x, y, words, style, anchor = "start") {
    const place = { x, y, class: style, "text-anchor": anchor, "pointer-events": "none" };
    return svg("text", place, words);
}

// Cut to what has room; the whole is in the tooltip.
function fitting(words, width) {
    const room = Math.floor(width / 6.4);
    return words.length > room ? words.slice(0, room - 1) + "\u2026" : words;
}

function grid(parent, scale, y1, y2, name) {
    for (const tick of scale.ticks) {
        const at = scale(tick);
        parent.append(svg("line", { class: "grid", x1: at, x2: at, y1, y2 }));
        parent.append(label(at, y2 + 16, name(tick), "soft", "middle"));
    }
}
