// One plan, opened from a chart or the table; the address keeps which.
const DIALOG = byId("plan");

function planBreakdown(i, width) {
    const picture = canvas(width, 44, `Step of ${planName(i).toLowerCase()}`),
        marks = [];
    segments(
        picture,
        partEntries(i),
        (v) => (v / figure(i, "step_s")) * width,
        4,
        24,
        marks,
        undefined,
    );
    listen(picture, marks);
    return picture;
}

function planMemory(i, width) {
    if (!STAGES.has(i))
        return el(
            "p",
            { class: "soft" },
            "Stage by stage this page has the first plans and the front; --format json has all.",
        );
    const marks = [],
        picture = memoryPicture(width, i, marks);
    listen(picture, marks);
    return picture;
}

function against(i) {
    if (i === 0 || figure(i, "step_s") === null) return null;
    const speed = value(i, "net_tokens_per_s") / value(0, "net_tokens_per_s") - 1,
        money = figure(i, "usd_per_mtoken");
    const words = [`${signed(speed)} tokens/s`];
    if (money !== null && PRICED)
        words.push(`${signed(money / figure(0, "usd_per_mtoken") - 1)} USD per token`);
    return el(
        "p",
        { class: "soft" },
        `Against plan 1: ${words.join(", ")}. Parameters that differ are marked.`,
    );
}

function openPlan(i) {
    hideTip();
    const close = el(
        "button",
        { type: "button", click: () => DIALOG.close(), "aria-label": "close" },
        "Close",
    );
    DIALOG.replaceChildren(
        el(
            "div",
            { class: "chart-head" },
            el("h2", { id: "plan-title" }, `${planName(i)}: ${word(i, "nodes")}`),
            close,
        ),
        against(i) || "",
        cautions(i),
        el("div", { class: "tiles" }, tiles(i)),
        chips(i),
    );
    if (!DIALOG.open) DIALOG.showModal();
    const width = Math.max(240, DIALOG.clientWidth - 48);
    DIALOG.append(
        el("h3", {}, "Where the time goes"),
        planBreakdown(i, width),
        partLegend(),
        el("h3", {}, "Memory of each stage"),
        planMemory(i, width),
        el("h3", {}, "Launch"),
        flagBox(i),
    );
    DIALOG.append(TIP);
    DIALOG.scrollTop = 0;
    history.replaceState(null, "", planAddress(i));
}

DIALOG.addEventListener("close", () => {
    document.body.append(TIP);
    hideTip();
    history.replaceState(null, "", planAddress(-1));
});
DIALOG.addEventListener("click", (e) => {
    if (e.target === DIALOG) DIALOG.close();
});
