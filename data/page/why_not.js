// Why not another value? The best plan with each value of a parameter, on the GPUs of plan 1.
function drawWhyNot() {
    const names = [...new Set(DATA.others.map((o) => o.param))];
    if (names.length === 0) return;
    const part = section("why-not", "Why not another value?", "Why not", "", "last");
    const gpus = word(0, "nodes");
    part.note.textContent = `On the GPUs of plan 1 (${gpus}), the best plan that has each value.`;
    const show = (name) => part.body.replaceChildren(whyNotBars(name));
    const box = select(
        "parameter",
        names.map((n) => [n, n.replaceAll("_", " ")]),
        show,
    );
    part.tools.append(el("span", { "aria-hidden": "true" }, "Parameter"), box);
    show(names[0]);
    alternative(part, ["parameter", "value", "step", "against plan 1", "plan or reason"], () =>
        DATA.others.map((o) => [
            o.param,
            o.value,
            o.feasible ? seconds(o.step_s) : "",
            o.chosen ? "plan 1" : o.feasible ? signed(o.step_s / figure(0, "step_s") - 1) : "",
            whyNotWords(o),
        ]),
    );
}

function whyNotWords(o) {
    const unchanged = o.best || o.chosen ? "" : "plan 1 with nothing else changed: ";
    if (!o.feasible) return unchanged + (o.reason || "not possible");
    return unchanged + o.plan;
}

function whyNotVerdict(o) {
    const more = o.feasible ? o.step_s / figure(0, "step_s") - 1 : 0;
    if (o.chosen) return seconds(figure(0, "step_s")) + ", plan 1";
    if (!o.feasible) return "not possible";
    return `${seconds(o.step_s)}, ${more < 0.0005 ? "as fast" : percent(more) + " slower"}`;
}

function whyNotCells(o, most) {
    const bar = el("i", { class: o.chosen ? null : "other" });
    bar.style.width = o.feasible ? (100 * o.step_s) / most + "%" : "0";
    return [
        el("dt", { class: o.chosen ? "own" : null }, o.value),
        el("dd", { class: "bar" }, bar),
        el("dd", { class: o.chosen ? "own" : o.feasible ? null : "bad" }, whyNotVerdict(o)),
        el("dd", { class: "words" }, whyNotWords(o)),
    ];
}

function whyNotBars(name) {
    const list = DATA.others.filter((o) => o.param === name),
        steps = list.filter((o) => o.feasible).map((o) => o.step_s),
        most = Math.max(...steps, figure(0, "step_s")),
        bars = el("dl", { class: "bars" }, list.map((o) => whyNotCells(o, most)).flat());
    return el("div", {}, el("p", { class: "soft" }, list[0].help), bars);
}
