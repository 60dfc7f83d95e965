// From a question to what is shown of it. A changed question ends the one before. A search that takes
// long shows the best so far: a second worker asks the same with a time limit, again with a larger one
// until the answer is there, so that stopping loses nothing that was seen.
const SHOWN = { address: "", question: null, result: null, html: "" };
const PREVIEW_AFTER_MS = 2000,
    PREVIEW_S = [1, 3, 9, 27, 81];
let latest = 0, // number of the question that counts
    asked = null, // the question itself
    turns = 0, // of the form: a long script takes a moment to be packed
    stopping = false, // it was stopped before anything was seen
    typing = 0;

function formChanged() {
    describeModel();
    clearTimeout(typing);
    typing = setTimeout(() => askForm(), 100);
}

async function askForm() {
    clearTimeout(typing);
    const turn = ++turns,
        question = questionOfForm(),
        address = await addressOf(question);
    if (turn !== turns) return;
    byId("command").textContent = commandLine(question);
    byId("ask-brief").textContent = titleOf(question);
    if (address === SHOWN.address) return;
    SHOWN.address = address;
    history.replaceState(null, "", address);
    await askEngine(question);
}

// Options that make the engine write what the page shows.
function forEngine(question, more = []) {
    const report = question.command === "search" ? [] : [["report", "/report.html"]];
    return { ...question, options: [...question.options, ...report, ...more], report: true };
}

async function askEngine(question) {
    const number = ++latest,
        bar = byId("state").querySelector("progress");
    if (bar) bar.value = 0; // of the question before
    asked = question;
    stopping = false;
    clearComplaints();
    if (MAIN.busy) MAIN.end();
    if (SIDE.preview) SIDE.end();
    SIDE.preview = false;
    if (question.command !== "search" && !question.text.text.trim()) return showEmpty();
    const waiting = wait(number, question);
    try {
        const progress = (done) => number === latest && showProgress(done);
        const result = await MAIN.send({ act: "ask", question: forEngine(question) }, progress);
        if (number === latest) showResult(question, result);
    } catch (error) {
        if (number === latest) showBroken(error.message);
    } finally {
        clearTimeout(waiting);
        if (number === latest) endPreview();
    }
    if (number === latest) await addAlternatives(number, question);
}

function wait(number, question) {
    byId("content").setAttribute("aria-busy", "true");
    const soon = setTimeout(() => {
        if (number === latest && MAIN.busy) showProgress(0);
    }, 150);
    setTimeout(() => {
        if (number === latest && question.command === "search" && MAIN.busy && !MAIN.later)
            preview(number, question).catch(() => {}); // the question itself says what failed
    }, PREVIEW_AFTER_MS);
    return soon;
}

async function preview(number, question) {
    SIDE.preview = true;
    for (const limit of PREVIEW_S) {
        const asked = forEngine(question, [["time-limit", limit + "s"]]);
        const result = await SIDE.send({ act: "ask", question: asked });
        if (number !== latest || !SIDE.preview) return;
        if (result.answer.status === 0) showResult(question, result, true);
        if (stopping) return endSearch();
    }
    SIDE.preview = false;
}

function endPreview() {
    if (SIDE.preview) SIDE.end();
    SIDE.preview = false;
}

// What was seen last becomes the answer; where nothing was, the first preview will be.
function stopSearch() {
    MAIN.end();
    stopping = true;
    if (SHOWN.question === asked) endSearch();
    else {
        showState("Stopping\u2026");
        if (!SIDE.preview) preview(latest, asked).catch((error) => showBroken(error.message));
    }
}

function settle() {
    byId("content").setAttribute("aria-busy", "false");
    delete document.body.dataset.busy;
}

function endSearch() {
    const seen = SHOWN.result && SHOWN.result.early;
    endPreview();
    latest++;
    settle();
    showState(
        el(
            "span",
            { class: "soft" },
            seen ? stateWords(SHOWN.result, true) : "Stopped: no plan was found so far.",
        ),
    );
}

function showState(...content) {
    byId("state").replaceChildren(
        ...content.map((c) => (c instanceof Node ? c : el("span", {}, c))),
    );
}

function showProgress(done) {
    const known = byId("state").querySelector("progress");
    if (known) {
        known.value = Math.max(known.value, done);
        return;
    }
    const bar = el("progress", { max: 1, value: done, "aria-label": "search" }),
        stop = el(
            "button",
            { type: "button", id: "stop", click: stopSearch },
            "Stop, keep the best so far",
        );
    showState("Searching\u2026", bar, stop);
    document.body.dataset.busy = "yes";
}

function showEmpty() {
    SHOWN.result = null;
    byId("answer").hidden = true;
    settle();
    showState(
        el(
            "div",
            { class: "empty" },
            el("h1", {}, "Is this launch script any good?"),
            el(
                "p",
                {},
                "Paste it, or the log of a training, and see at once: whether it fits, how fast it is, and what would be better, as a diff of your own file. Nothing of it is run, and nothing leaves this page.",
            ),
            el(
                "button",
                { type: "button", class: "first", click: () => byId("script-sample").click() },
                "Try an example",
            ),
        ),
    );
}

function showBroken(message) {
    settle();
    showState(
        el(
            "div",
            { class: "empty" },
            el("h1", {}, "The engine stopped"),
            el("p", {}, message),
            el("p", { class: "soft" }, "Another question starts it again."),
        ),
    );
    SHOWN.address = "";
}

// A message: at its field where something is wrong, in the answer's place where nothing fits.
function showRefusal(question, { answer }) {
    const wrong = answer.status > 1;
    if (wrong) complain(answer.option, answer.message);
    byId("answer").classList.toggle("stale", wrong);
    if (!wrong) byId("answer").hidden = true;
    const words = el(
        "div",
        { class: "empty" + (wrong ? " wrong" : "") },
        el("h1", {}, wrong ? "Not asked" : "Nothing fits"),
        el("pre", {}, answer.message),
        wrong ? "" : enoughNodes(answer.message),
        wrong && !byId("answer").hidden
            ? el("p", { class: "soft" }, "Below is the answer before.")
            : "",
    );
    showState(words);
}

// "...; 64 H100-SXM5-80GB (8 nodes) would do": one click away, where the pool has one type.
function enoughNodes(message) {
    const found = /\((\d+) nodes?\) would do/.exec(message),
        rows = document.querySelectorAll(".pool-row");
    if (!found || rows.length !== 1) return "";
    const take = () => {
        rows[0].querySelector(".nodes").value = found[1];
        poolChanged();
    };
    return el("button", { type: "button", class: "first", click: take }, `Take ${found[1]} nodes`);
}

function stateWords({ answer, took, early }, stopped) {
    const { gap } = early ? JSON.parse(answer.json) : {};
    const far = gap === undefined ? "" : `at most ${percent(gap, 0)} from the best possible`;
    if (stopped) return `Stopped: the best so far, ${far}.`;
    if (early) return `The best so far, ${far}; searching on\u2026`;
    return `Answered in ${seconds(took / 1000)}, in this browser.`;
}

function showResult(question, result, early = false) {
    result.early = early;
    delete document.body.dataset.busy;
    if (!early) settle();
    if (!result.data) return showRefusal(question, result);
    Object.assign(SHOWN, { question, result, html: "" });
    byId("answer").hidden = false;
    byId("answer").classList.remove("stale");
    byId("changes").hidden = true;
    const data = JSON.parse(result.data);
    data.pending = question.command === "search" && !early;
    if (early) data.badge = "best so far";
    // It stands above the card.
    if (question.command !== "search")
        data.advice = data.advice.filter((a) => !OFFER.test(a.heading));
    showAnswer(data);
    document.title = byId("heading").textContent + " - Astra";
    if (question.command !== "search") {
        byId("heading").textContent = question.text.name;
        showChanges(result);
    }
    showActions(question, result);
    showSliders(question, early);
    if (early) {
        const bar = byId("state").querySelector("progress");
        showState(
            el("strong", {}, stateWords(result)),
            bar || "",
            el("button", { type: "button", id: "stop", click: stopSearch }, "Stop, keep this one"),
        );
    } else {
        showState(el("span", { class: "soft" }, stateWords(result)));
        remember(question);
        keepReserve();
    }
    speak(early ? "Best so far" : "Answered");
    openPlanOfAddress();
}

async function addAlternatives(number, question) {
    if (question.command !== "search" || !SHOWN.result || SHOWN.result.answer.status !== 0) return;
    MAIN.later = true;
    try {
        const { html, data } = await MAIN.send({ act: "report" });
        if (number !== latest) return;
        SHOWN.html = html;
        DATA.others = JSON.parse(data).others;
        DATA.pending = false;
        fillWhyNot();
    } catch {
        /* the question changed */
    } finally {
        MAIN.later = false;
    }
}
