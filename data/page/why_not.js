// Why not another value? On the GPUs of plan 1, a plan with each value of a parameter.
let WHY_NOT = null; // its section; the planner's page has alternatives later than the answer

function drawWhyNot() {
    if (DATA.others.length === 0 && !DATA.pending) return;
    WHY_NOT = section("why-not", "Why not another value?", "Why not", "", "last");
    fillWhyNot();
}

function fillWhyNot() {
    const part = WHY_NOT,
        names = [...new Set(DATA.others.map((o) => o.param))];
    if (names.length === 0) {
        part.note.textContent = DATA.pending
            ? "Plans with other values are being searched for\u2026"
            : "There is no other value to try.";
        return;
    }
    part.note.textContent = whyNotLead();
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

// Rows are of two kinds: searched, or plan 1 with one change.
function whyNotLead() {
    const others = DATA.others.filter((o) => !o.chosen),
        searched = others.filter((o) => o.best).length;
    const best = "the best plan that has each value",
        near = "plan 1 with nothing but the value changed";
    return (
        `On the GPUs of plan 1 (${word(0, "nodes")}), ` +
        (searched === others.length
            ? best + "."
            : searched === 0
              ? near + ": another plan that has it may be better."
              : `${best}; of values that were not searched, as they say, ${near}.`)
    );
}

function whyNotWords(o) {
    const unchanged = o.best || o.chosen ? "" : "plan 1 with nothing else changed: ";
    if (!o.feasible) return unchanged + o.reason;
    return unchanged + o.plan;
}

function whyNotVerdict(o) {
    const more = o.feasible ? o.step_s / figure(0, "step_s") - 1 : 0;
    if (o.chosen) return seconds(figure(0, "step_s")) + ", plan 1";
    if (!o.feasible) return o.best ? "not possible" : "not with the rest of plan 1 unchanged";
    return `${seconds(o.step_s)}, ${whyNotSpeed(more)}`;
}

function whyNotSpeed(more) {
    if (Math.abs(more) < 0.0005) return "as fast";
    return `${percent(Math.abs(more))} ${more < 0 ? "faster" : "slower"}`;
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
