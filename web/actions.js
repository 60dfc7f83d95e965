// What can be done with an answer: pin it, share it, take it along.
const EXPORTS = [
    "megatron",
    "torchrun",
    "slurm",
    "k8s",
    "pytorchjob",
    "skypilot",
    "bridge",
    "flagscale",
];
const ENDINGS = { megatron: "txt", torchrun: "sh", slurm: "sbatch", bridge: "py" };

function save(name, text, type = "text/plain") {
    const address = URL.createObjectURL(new Blob([text], { type })),
        link = el("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const baseName = () =>
    byId("heading")
        .textContent.replace(/[^\w.-]+/g, "-")
        .slice(0, 60);

function button(text, click, more) {
    return el("button", { type: "button", click, ...more }, text);
}

function showActions(question, result) {
    const link = async (e) =>
        copyText(location.href.split("#")[0] + (await addressOf(question)), e.target);
    byId("actions").replaceChildren(
        button("Pin to compare", () => pin(question, result), { id: "pin", class: "first" }),
        button("Copy link", link, { id: "share" }),
        downloadMenu(question, result),
    );
}

function downloadMenu(question, result) {
    const search = question.command === "search";
    const item = (text, act) =>
        button(text, async (e) => {
            const box = e.currentTarget;
            box.disabled = true;
            try {
                await act();
            } catch (error) {
                showState(el("span", { class: "bad" }, error.message));
            }
            box.disabled = false;
        });
    const json = item("JSON", () =>
        save(baseName() + ".json", result.answer.json, "application/json"),
    );
    const files = result.early
        ? [json] // of a search that was stopped
        : search
          ? [
                item("Report, one HTML file", saveReport),
                json,
                item("CSV, all plans", () => savePrinted("csv")),
                item("Text", () => savePrinted("text", "txt")),
                item("Front as SVG", () => savePlot(question)),
            ]
          : [item("Report, one HTML file", saveReport), item("JSON", () => saveEstimate(question))];
    const exports = EXPORTS.map((to) => item(to, () => saveExport(question, result, to)));
    return el(
        "details",
        { class: "menu" },
        el("summary", {}, "Download"),
        el(
            "div",
            {},
            el("h3", {}, "Answer"),
            files,
            el("h3", {}, search ? "Plan 1 as a launch file" : "The plan as a launch file"),
            exports,
        ),
    );
}

// With the alternatives, which may still be computed.
async function saveReport() {
    const html = SHOWN.html || (await MAIN.send({ act: "report" })).html;
    save(baseName() + ".html", html, "text/html");
}

async function savePrinted(format, ending = format) {
    const { text } = await MAIN.send({ act: "print", format });
    save(`${baseName()}.${ending}`, text);
}

async function savePlot(question) {
    const asked = { ...question, options: [...question.options, ["plot", "/plot.svg"]] },
        { answer, text } = await SIDE.send({ act: "file", question: asked, path: "/plot.svg" });
    if (!text) throw new Error(answer.message || "no front to draw");
    save(baseName() + ".svg", text, "image/svg+xml");
}

const estimateOf = (question) => ({ ...question, command: "estimate" });

async function saveEstimate(question) {
    const { answer } = await SIDE.send({ act: "ask", question: estimateOf(question) });
    save(baseName() + ".json", answer.json, "application/json");
}

async function saveExport(question, result, to) {
    const plan =
        question.command === "search"
            ? result.answer.json
            : (await SIDE.send({ act: "ask", question: estimateOf(question) })).answer.json;
    const asked = {
            command: "export",
            options: [["to", to]],
            text: { name: "plan.json", text: plan },
        },
        { answer } = await SIDE.send({ act: "ask", question: asked });
    if (answer.status) throw new Error(answer.message);
    save(`${baseName()}.${to}.${ENDINGS[to] || "yaml"}`, answer.script);
}
