// What if one input were another: each slider asks the engine for the best plan then.
const factor = (v) => 2 ** v;
const plainFactor = (v) => (v === 0 ? "as asked" : `\u00d7 ${factor(v)}`);
const SLIDERS = [
    {
        id: "nodes",
        label: "Nodes",
        low: -2,
        high: 2,
        step: 1,
        text: plainFactor,
        change: (v, gpu) => `nodes:${gpu}=x${factor(v)}`,
    },
    {
        id: "batch",
        label: "Global batch",
        low: -2,
        high: 2,
        step: 1,
        text: plainFactor,
        change: (v) => `global-batch=x${factor(v)}`,
    },
    {
        id: "nic",
        label: "Network",
        low: -2,
        high: 2,
        step: 1,
        text: plainFactor,
        change: (v, gpu) => `nic:${gpu}=x${factor(v)}`,
    },
    {
        id: "price",
        label: "Price",
        low: -60,
        high: 100,
        step: 10,
        text: (v) => (v === 0 ? "as asked" : `${v > 0 ? "+" : "\u2212"}${Math.abs(v)} %`),
        change: (v, gpu) => `price:${gpu}=${v > 0 ? "+" : ""}${v}%`,
    },
];

function showSliders(question, early) {
    const box = byId("sliders");
    box.hidden = question.command !== "search" || early;
    if (box.hidden) return;
    const gpu = word(0, "gpu").split(" ")[0].split("+")[0];
    box.replaceChildren(
        el("div", { class: "chart-head" }, el("h2", { id: "sliders-title" }, "What if")),
        el(
            "p",
            { class: "lead" },
            `One input changed, the best plan then, searched anew. Nodes, network between them and price are those of ${gpu}.`,
        ),
        el(
            "div",
            { class: "sliders" },
            SLIDERS.map((s) => sliderOf(s, question, gpu)),
        ),
    );
}

function sliderOf(slider, question, gpu) {
    const shown = el("output", { for: "slider-" + slider.id }, slider.text(0)),
        answer = el("p", { class: "soft", "aria-live": "polite" }),
        range = el("input", {
            type: "range",
            id: "slider-" + slider.id,
            min: slider.low,
            max: slider.high,
            step: slider.step,
            value: 0,
        });
    let wait = 0,
        count = 0;
    range.addEventListener("input", () => {
        const v = Number(range.value);
        shown.textContent = slider.text(v);
        range.setAttribute("aria-valuetext", slider.text(v));
        clearTimeout(wait);
        const number = ++count;
        if (v === 0) answer.textContent = "";
        else
            wait = setTimeout(
                () => askChange(slider.change(v, gpu), question, answer, () => number === count),
                200,
            );
    });
    return el(
        "div",
        { class: "slider" },
        el("label", { for: range.id }, slider.label),
        shown,
        range,
        answer,
    );
}

async function askChange(change, question, place, counts) {
    place.textContent = "\u2026";
    const asked = { ...question, options: [...question.options, ["what-if", change]] },
        base = SHOWN.result;
    let words;
    try {
        const { answer } = await SIDE.send({ act: "ask", question: asked });
        words = answer.status ? answer.message : changeWords(JSON.parse(answer.json));
    } catch (error) {
        words = error.message;
    }
    if (counts() && base === SHOWN.result) place.textContent = words;
}

function changeWords(answer) {
    const [found] = answer.what_if,
        { plan } = found,
        now = answer.best[0];
    if (!found.feasible) return found.message;
    const money =
        plan.usd_per_mtoken && now.usd_per_mtoken
            ? `, ${signed(plan.usd_per_mtoken / now.usd_per_mtoken - 1)} USD per token`
            : "";
    return `${seconds(plan.step_s)} a step, ${signed(plan.tokens_per_s / now.tokens_per_s - 1)} tokens/s${money}; ${found.same ? "the same plan" : found.message}`;
}
