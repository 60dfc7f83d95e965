// A launch script or a log instead of a form: what it starts, how fast that is, and what would be
// better. Nothing of it is run.
const SAMPLE = `#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 \\
    --num-attention-heads 64 --group-query-attention --num-query-groups 8 \\
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope \\
    --normalization RMSNorm --swiglu --disable-bias-linear \\
    --untie-embeddings-and-output-weights --vocab-size 128256 \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel \\
    --micro-batch-size 1 --global-batch-size 512 --bf16 \\
    --use-distributed-optimizer --recompute-activations
`;

function scriptFields() {
    const text = el("textarea", {
            rows: 14,
            spellcheck: "false",
            placeholder:
                "Paste a launch script, sbatch file, YAML or training log, or drop the file here.",
        }),
        file = el("input", { type: "file", class: "hidden", tabindex: "-1" });
    file.addEventListener("change", () => file.files[0] && takeScript(file.files[0]));
    const sample = () => {
        FORM.script.name = "train.sh";
        text.value = SAMPLE;
        formChanged();
    };
    const part = field("script", "Launch script or log", text);
    part.append(
        el(
            "div",
            { class: "buttons" },
            el("button", { type: "button", click: () => file.click() }, "Open\u2026"),
            file,
            el("button", { type: "button", id: "script-sample", click: sample }, "An example"),
        ),
    );
    return [
        part,
        el(
            "div",
            { class: "pair" },
            field("gpu", "GPU", el("select", {}, el("option", { value: "" }, "as it says"))),
            field("script-cluster", "Or the pool", textBox("8x8:H100")),
            field("args", "Its arguments", textBox("as 7B 1 8")),
            field("script-version", "Megatron core", textBox("HEAD")),
        ),
    ];
}

async function takeScript(file) {
    const MOST = 8e6; // what a text box still takes
    FORM.script.name = plainName(file.name);
    byId(fieldId("script")).value = (await file.text()).slice(-MOST);
    formChanged();
}

function fillGpus() {
    const box = byId(fieldId("gpu"));
    box.append(...FORM.gpus.map((g) => el("option", { value: g.short }, g.short)));
    box.value = "H100";
}

const SCRIPT_OPTIONS = [
    ["gpu", "gpu"],
    ["cluster", "script-cluster"],
    ["args", "args"],
    ["megatron-version", "script-version"],
];

function scriptQuestion() {
    const text = byId(fieldId("script")).value,
        pool = byId(fieldId("script-cluster")).value.trim(),
        options = [];
    for (const [option, name] of SCRIPT_OPTIONS) {
        const value = byId(fieldId(name)).value.trim();
        if (value && !(option === "gpu" && pool)) options.push([option, value]);
    }
    return { command: "improve", options, files: [], text: { name: FORM.script.name, text } };
}

function fillScript(question) {
    FORM.script.name = question.text ? question.text.name : "train.sh";
    byId(fieldId("script")).value = question.text ? question.text.text : "";
    for (const [option, name] of SCRIPT_OPTIONS) {
        const box = byId(fieldId(name)),
            value = optionOf(question, option) || "";
        if (box.tagName === "SELECT" && value && ![...box.options].some((o) => o.value === value))
            box.append(el("option", { value }, value));
        box.value = value;
    }
}

// A unified diff with its lines told apart, by sign and by colour.
function diffBox(diff) {
    const kind = (line) =>
        /^(\+\+\+|---)/.test(line)
            ? "name"
            : { "+": "come", "-": "gone", "@": "place" }[line[0]] || null;
    const lines = diff.trimEnd().split("\n");
    return el(
        "pre",
        { class: "diff", tabindex: "0", "aria-label": "what changes in the script" },
        lines.map((line) => el("span", { class: kind(line) }, line + "\n")),
    );
}

const OFFER = /^What Astra would run$/m; // of what is no script, or cannot be changed safely

// What `astra improve` says: now, then, the diff; or the flags to change by hand; or why nothing is.
function showChanges({ answer, text }) {
    const box = byId("changes"),
        at = text.search(/^--- /m),
        changed = answer.status === 0,
        offered = !changed && OFFER.test(text);
    const words = (at < 0 ? text : text.slice(0, at)).split("\n").filter((line) => line.trim());
    const plain = words
        .filter((line) => !OFFER.test(line))
        .map((line) => line.replace(/^ *- /, ""));
    box.replaceChildren(
        el(
            "div",
            { class: "card-head" },
            el("h2", {}, changed || offered ? "What would be better" : "Nothing to change"),
            ...(answer.script ? scriptButtons(answer.script) : []),
        ),
        changed ? "" : el("p", { class: "soft" }, answer.message),
        listOf(plain, null),
        at < 0 ? "" : diffBox(text.slice(at)),
    );
    box.hidden = false;
}

function scriptButtons(script) {
    return [
        button("Download the new script", () => save(improvedName(), script)),
        button("Copy it", (e) => copyText(script, e.currentTarget)),
    ];
}

const improvedName = () => FORM.script.name.replace(/(\.[^.]*)?$/, ".improved$1");
