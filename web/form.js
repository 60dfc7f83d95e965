// The question as a form. A field is an option of the command; what is not filled in is not given, and
// its placeholder says what holds then. Other options are lines of text below it.
const FIELDS = [
    { name: "global-batch", label: "Global batch", empty: "512" },
    { name: "seq-len", label: "Sequence length", empty: "model's, to 8192" },
    { name: "precision", label: "Precision", words: ["bf16", "fp16", "fp8"] },
    { name: "numerics", label: "Numerics", words: ["safe", "production"] },
    { name: "tokens", label: "Tokens of the run", empty: "as 1T", group: "money" },
    { name: "deadline", label: "Deadline", empty: "as 30d", group: "money" },
    { name: "budget", label: "Budget, $", empty: "as 2.5M", group: "money" },
    {
        name: "objective",
        label: "Looking for",
        words: ["", "throughput", "cost", "usd-per-token"],
        usual: "the usual",
        group: "money",
    },
    { name: "market", label: "Prices", words: ["on-demand", "spot", "reserved"], group: "money" },
    { name: "gpus", label: "GPUs in all", empty: "any number", group: "more" },
    { name: "mix", label: "Types in one job", empty: "up to 4", group: "more" },
    { name: "stack", label: "Layers", words: ["te", "torch", "local"], group: "more" },
    { name: "megatron-version", label: "Megatron core", empty: "HEAD", group: "more" },
];
const FIRST = [
    ["model", "llama3-70b"],
    ["cluster", "64x8:H100"],
];
const EXTRA_HINT = "set tp=2,4\nset recompute=none\nmemory-margin 0.08";

const FORM = {
    mode: "search",
    gpus: [], // of the engine: {name, short, price}
    models: [],
    config: null, // {name, text} of a config.json
    script: { name: "train.sh", text: "" },
};

const fieldId = (name) => "f-" + name;

// A label, a control, and room for the engine's complaint.
function field(name, label, control, help) {
    const error = el("p", { class: "complaint", id: `${fieldId(name)}-error`, hidden: true });
    control.id = fieldId(name);
    control.setAttribute("aria-describedby", error.id);
    return el(
        "div",
        { class: "field", "data-field": name },
        el("label", { for: control.id }, label, help && el("span", { class: "soft" }, " " + help)),
        control,
        error,
    );
}

const textBox = (placeholder, more) =>
    el("input", { type: "text", placeholder, autocomplete: "off", spellcheck: "false", ...more });

// The first is what holds anyway; `usual` names it where it is no word of the option.
function wordBox(words, usual) {
    return el(
        "select",
        {},
        words.map((w, k) => el("option", { value: k === 0 ? "" : w }, w || usual)),
    );
}

function plainField({ name, label, empty, help, words, usual }) {
    return field(name, label, words ? wordBox(words, usual) : textBox(empty), help);
}

const group = (wanted) => FIELDS.filter((f) => f.group === wanted).map(plainField);

function fold(title, open, ...content) {
    return el("details", { class: "fold", open }, el("summary", {}, title), ...content);
}

function buildForm() {
    byId("form").replaceChildren(
        el("div", { id: "form-search" }, modelField(), poolField(), ...searchFields()),
        el("div", { id: "form-script", hidden: true }, ...scriptFields()),
        el("p", { class: "complaint", id: "form-error", hidden: true }),
        fold(
            "The same on the command line",
            false,
            el("pre", { class: "command", tabindex: "0" }, el("code", { id: "command" })),
        ),
    );
}

function searchFields() {
    const extra = el("textarea", { rows: 3, placeholder: EXTRA_HINT, spellcheck: "false" });
    return [
        el("div", { class: "pair" }, group(undefined)),
        fold(
            "A whole run: tokens, money, time",
            true,
            el("div", { class: "pair" }, group("money")),
        ),
        fold(
            "More options",
            false,
            el("div", { class: "pair" }, group("more")),
            field("extra", "Any other option", extra, "a line each: name, value"),
        ),
    ];
}

// Presets by name, sizes as pairs, or a config.json.
function modelField() {
    const box = textBox("a preset, or layers=32,hidden=4096,\u2026", { list: "presets" }),
        file = el("input", {
            type: "file",
            accept: ".json,application/json",
            class: "hidden",
            id: "config-file",
            tabindex: "-1",
        });
    const about = el("p", { class: "soft about", id: "model-about" });
    file.addEventListener("change", () => file.files[0] && takeConfig(file.files[0]));
    const choose = el("button", { type: "button", click: () => file.click() }, "config.json\u2026");
    const part = field("model", "Model", box);
    part.append(
        el("datalist", { id: "presets" }),
        about,
        el(
            "div",
            { class: "buttons" },
            choose,
            file,
            el("span", { class: "soft" }, "or drop one here"),
        ),
        sizesByHand(),
    );
    return part;
}

const SIZES = [
    ["layers", "80"],
    ["hidden", "8192"],
    ["ffn", "28672"],
    ["heads", "64"],
    ["kv", "8"],
    ["vocab", "128256"],
    ["experts", ""],
    ["topk", ""],
];

function sizesByHand() {
    const boxes = SIZES.map(([name, example]) =>
        el(
            "label",
            {},
            name,
            el("input", {
                type: "text",
                inputmode: "numeric",
                placeholder: example,
                "data-size": name,
            }),
        ),
    );
    const put = () => {
        const given = [...document.querySelectorAll("[data-size]")].filter((b) => b.value.trim());
        byId(fieldId("model")).value = given
            .map((b) => `${b.dataset.size}=${b.value.trim()}`)
            .join(",");
        formChanged();
    };
    const part = fold("Sizes by hand", false, el("div", { class: "sizes" }, boxes));
    part.addEventListener("input", (e) => {
        e.stopPropagation();
        put();
    });
    return part;
}

// A config.json that was chosen, dropped or pasted: the model's name is then that of the file.
async function takeConfig(file) {
    setConfig(plainName(file.name || "config.json"), await file.text());
}

function setConfig(name, text) {
    FORM.config = { name: name.endsWith(".json") ? name : name + ".json", text };
    byId(fieldId("model")).value = FORM.config.name;
    formChanged();
}

function poolField() {
    const add = el(
        "button",
        { type: "button", id: "pool-add", click: () => addRow(nextRow()) },
        "+ another type",
    );
    return el(
        "fieldset",
        { class: "field", "data-field": "cluster", id: "f-cluster" },
        el("legend", {}, "GPUs"),
        el(
            "div",
            { class: "pool-head soft", "aria-hidden": "true" },
            ["nodes", "GPUs", "type", "$/GPU-h", ""].map((t) => el("span", {}, t)),
        ),
        el("div", { id: "pool" }),
        el("p", { class: "complaint", id: "f-cluster-error", hidden: true }),
        el(
            "div",
            { class: "buttons" },
            add,
            el("span", { class: "soft" }, "nodes: 64, or 1..64 to search over"),
        ),
    );
}

const nextRow = () => ({ nodes: "8", each: "8", gpu: unusedGpu(), price: "" });

function unusedGpu() {
    const used = poolRows().map((r) => r.gpu);
    return ["H100", "A100", "H200", "B200", "L40S"].find((g) => !used.includes(g)) || "H100";
}

function gpuBox(chosen) {
    const box = el("select", { "aria-label": "GPU type", class: "gpu" });
    const known = FORM.gpus.some((g) => g.short === chosen);
    if (!known) box.append(el("option", { value: chosen }, chosen));
    for (const arch of [...new Set(FORM.gpus.map((g) => g.arch))])
        box.append(
            el(
                "optgroup",
                { label: arch },
                FORM.gpus
                    .filter((g) => g.arch === arch)
                    .map((g) => el("option", { value: g.short, title: g.name }, g.short)),
            ),
        );
    box.value = chosen;
    return box;
}

function addRow({ nodes, each, gpu, price }) {
    const priceBox = textBox("", {
        class: "price",
        "aria-label": "price per GPU-hour, $",
        inputmode: "decimal",
    });
    const row = el(
        "div",
        { class: "pool-row" },
        textBox("", { class: "nodes", "aria-label": "nodes" }),
        textBox("", { class: "each", "aria-label": "GPUs a node", inputmode: "numeric" }),
        gpuBox(gpu),
        priceBox,
        el(
            "button",
            {
                type: "button",
                class: "remove",
                "aria-label": "remove this type",
                title: "remove",
                click: () => removeRow(row),
            },
            "\u00d7",
        ),
    );
    row.querySelector(".nodes").value = nodes;
    row.querySelector(".each").value = each;
    priceBox.value = price || "";
    byId("pool").append(row);
    poolChanged();
}

function removeRow(row) {
    const next = row.nextElementSibling || row.previousElementSibling;
    row.remove();
    poolChanged();
    (next ? next.querySelector(".gpu") : byId("pool-add")).focus();
}

function poolChanged() {
    const rows = [...document.querySelectorAll(".pool-row")];
    for (const row of rows) {
        const known = FORM.gpus.find((g) => g.short === row.querySelector(".gpu").value);
        row.querySelector(".price").placeholder =
            known && known.price ? known.price.toFixed(2) : "none";
        row.querySelector(".remove").disabled = rows.length === 1;
    }
    formChanged();
}

function poolRows() {
    const value = (row, name) => row.querySelector("." + name).value.trim();
    return [...document.querySelectorAll(".pool-row")].map((row) => ({
        nodes: value(row, "nodes"),
        each: value(row, "each"),
        gpu: value(row, "gpu"),
        price: value(row, "price"),
    }));
}

// What the form asks now.
function questionOfForm() {
    return FORM.mode === "search" ? searchQuestion() : scriptQuestion();
}

function searchQuestion() {
    const rows = poolRows(),
        model = byId(fieldId("model")).value.trim(),
        own = FORM.config && FORM.config.name === model;
    const options = [
        ["model", model],
        ["cluster", clusterOf(rows)],
    ];
    for (const { gpu, price } of rows)
        if (price) options.push(["price", `${gpu.replace(/@.*/, "")}=${price}`]);
    for (const { name } of FIELDS) {
        const value = byId(fieldId(name)).value.trim();
        if (value) options.push([name, value]);
    }
    options.push(...extraOptions());
    return { command: "search", options, files: own ? [FORM.config] : [] };
}

// "set tp=2" or "--set tp=2", a line each; a word alone is a switch.
function extraOptions() {
    const lines = byId(fieldId("extra"))
        .value.split("\n")
        .map((line) => line.trim().replace(/^--/, ""));
    return lines
        .filter((line) => line && !line.startsWith("#"))
        .map((line) => /^(\S+?)(?:[\s=]+(.*))?$/.exec(line))
        .filter(([, name]) => !WRITES.includes(name))
        .map(([, name, value]) => [name, value || "on"]);
}

// Puts a question into the form; what it has no field for becomes a line of other options.
function fillForm(question) {
    setMode(question.command === "search" ? "search" : "script");
    if (question.command !== "search") {
        fillScript(question);
        return;
    }
    const rest = new Map(FIELDS.map((f) => [f.name, ""])),
        extra = [],
        prices = new Map();
    for (const [name, value] of question.options) {
        if (name === "price" && value.includes("=")) prices.set(...value.split("="));
        else if (rest.has(name) && rest.get(name) === "") rest.set(name, value);
        else if (name !== "model" && name !== "cluster") extra.push(`${name} ${value}`);
    }
    FORM.config = question.files[0] || FORM.config;
    byId(fieldId("model")).value = optionOf(question, "model") || "";
    byId("pool").replaceChildren();
    const rows = poolOf(optionOf(question, "cluster")) || poolOf(FIRST[1][1]);
    for (const row of rows) addRow({ ...row, price: prices.get(row.gpu) });
    for (const [name, value] of rest) setField(name, value);
    byId(fieldId("extra")).value = extra.join("\n");
}

function setField(name, value) {
    const box = byId(fieldId(name));
    const { words } = FIELDS.find((f) => f.name === name);
    if (words && value && !words.includes(value)) box.append(el("option", { value }, value));
    box.value = words && value === words[0] ? "" : value;
    const folded = value && box.closest("details.fold");
    if (folded) folded.open = true;
}

function setMode(mode) {
    FORM.mode = mode;
    for (const name of ["search", "script"]) {
        byId("form-" + name).hidden = name !== mode;
        byId("mode-" + name).setAttribute("aria-pressed", String(name === mode));
    }
}

// The engine's message at the field that it is about.
const ABOUT = [
    [/^(unknown )?model\b|config\.json|\.json:/, "model"],
    [/^(pool|cluster)\b|unknown GPU|--cluster/, "cluster"],
    [/^price\b|--price\b/, "cluster"],
];

function fieldOfMessage(option, message) {
    const named = [option, ...[...message.matchAll(/--([a-z][a-z-]+)/g)].map((m) => m[1])];
    const first = message.split("\n")[0],
        about = ABOUT.find(([pattern]) => pattern.test(first));
    return [...named, about && about[1]].find(
        (name) =>
            name && byId(`${fieldId(name)}-error`) && !byId(fieldId(name)).closest("[hidden]"),
    );
}

function clearComplaints() {
    for (const node of document.querySelectorAll(".complaint")) node.hidden = true;
    for (const node of document.querySelectorAll("[aria-invalid]"))
        node.removeAttribute("aria-invalid");
}

function complain(option, message) {
    const name = fieldOfMessage(option, message),
        place = byId(name ? `${fieldId(name)}-error` : "form-error");
    clearComplaints();
    place.textContent = message;
    place.hidden = false;
    if (!name) return;
    byId(fieldId(name)).setAttribute("aria-invalid", "true");
    const folded = place.closest("details.fold");
    if (folded) folded.open = true;
}

// What is known of the model that is named.
function describeModel() {
    const name = byId(fieldId("model")).value.trim(),
        known = FORM.models.find((m) => m.name === name),
        about = byId("model-about");
    if (known) {
        const active =
            known.params_active < known.params_total
                ? `, ${count(known.params_active)} active`
                : "";
        about.textContent = `${count(known.params_total)} parameters${active}, ${known.layers} layers, hidden ${known.hidden}`;
    } else
        about.textContent =
            FORM.config && FORM.config.name === name
                ? `${thousands(FORM.config.text.length)} bytes of ${name}`
                : "";
}
