// Starts the planner's page.
const planAddress = (i) => SHOWN.address + (i < 0 ? "" : "&plan-" + (i + 1));
const madeOf = () => "Computed in this browser: nothing was sent anywhere.";

const PLAN_IN_ADDRESS = /&plan-(\d+)$/;
let planWanted = -1;

function openPlanOfAddress() {
    if (planWanted >= 0 && planWanted < P.count) openPlan(planWanted);
    planWanted = -1;
}

async function askAddress() {
    const found = PLAN_IN_ADDRESS.exec(location.hash);
    planWanted = found ? Number(found[1]) - 1 : -1;
    const hash = location.hash.replace(PLAN_IN_ADDRESS, "");
    if (SHOWN.address && (hash === SHOWN.address || !hash.startsWith("#q="))) return;
    const question = (await questionOfAddress(hash)) || {
        command: "search",
        options: FIRST,
        files: [],
    };
    fillForm(question);
    await askForm();
}

function takeDrop(event) {
    const [file] = event.dataTransfer.files;
    event.preventDefault();
    delete document.body.dataset.drop;
    if (!file) return;
    if (/\.json$/i.test(file.name) && FORM.mode === "search") takeConfig(file);
    else {
        setMode("script");
        takeScript(file);
    }
}

// A config.json pasted into the model's field is a model, not a name.
function takePaste(event) {
    const text = event.clipboardData.getData("text").trim();
    if (!text.startsWith("{")) return;
    event.preventDefault();
    setConfig("config.json", text);
}

function listenToForm() {
    byId("form").addEventListener("input", (e) =>
        e.target.closest(".pool-row") ? poolChanged() : formChanged(),
    );
    byId("form").addEventListener("submit", (e) => e.preventDefault());
    byId("form").addEventListener("keydown", (e) => {
        if (e.key === "Enter" && e.target.tagName === "INPUT") askForm();
    });
    byId(fieldId("model")).addEventListener("paste", takePaste);
    for (const mode of ["search", "script"])
        byId("mode-" + mode).addEventListener("click", () => {
            setMode(mode);
            formChanged();
        });
    addEventListener("dragover", (e) => {
        e.preventDefault();
        document.body.dataset.drop = "yes";
    });
    addEventListener("dragleave", (e) => !e.relatedTarget && delete document.body.dataset.drop);
    addEventListener("drop", takeDrop);
    byId("recent-clear").addEventListener("click", () => keepRecent([]));
}

// The address is the question's: places of the page are gone to without it.
function goToPlace(event) {
    const link = event.target.closest("#contents a, .skip");
    if (!link) return;
    event.preventDefault();
    const place = byId(link.hash.slice(1));
    place.scrollIntoView();
    place.setAttribute("tabindex", "-1");
    place.focus({ preventScroll: true });
}

function closeMenus(event) {
    for (const menu of document.querySelectorAll("details.menu[open]"))
        if (event.key === "Escape" || (event.type === "click" && !menu.contains(event.target))) {
            menu.open = false;
            if (event.key === "Escape") menu.querySelector("summary").focus();
        }
}

function start() {
    startTheme();
    FORM.gpus = KNOWN.gpus;
    FORM.models = KNOWN.models;
    buildForm();
    byId("presets").append(
        ...FORM.models.map((m) =>
            el("option", { value: m.name }, `${count(m.params_total)} parameters`),
        ),
    );
    fillGpus();
    listenToForm();
    drawRecent();
    addEventListener("hashchange", askAddress);
    addEventListener("click", closeMenus);
    addEventListener("click", goToPlace);
    addEventListener("keydown", closeMenus);
    if (matchMedia("(max-width: 900px)").matches) byId("ask-fold").open = false;
    askAddress();
    if ("serviceWorker" in navigator && isSecureContext)
        navigator.serviceWorker.register("sw.js").catch(() => {});
    document.documentElement.dataset.ready = "yes";
}

start();
