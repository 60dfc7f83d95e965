// Puts the page together.
const THEMES = ["auto", "light", "dark"];

function startTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)"),
        button = byId("theme");
    let theme = "auto";
    try {
        theme = THEMES.includes(localStorage.getItem("astra-theme"))
            ? localStorage.getItem("astra-theme")
            : "auto";
    } catch {
        /* not kept */
    }
    const apply = () => {
        document.documentElement.dataset.theme =
            theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
        button.textContent = "Theme: " + theme;
    };
    button.addEventListener("click", () => {
        theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
        try {
            localStorage.setItem("astra-theme", theme);
        } catch {
            /* not kept */
        }
        apply();
    });
    dark.addEventListener("change", apply);
    apply();
}

function drawHead() {
    byId("heading").textContent = `${DATA.model.name} on ${DATA.cluster}`;
    byId("question").textContent = DATA.question;
    const prices = DATA.prices
        .filter((p) => p.usd_per_gpu_hour !== null)
        .map(
            (p) =>
                `${p.gpu} $${Number(p.usd_per_gpu_hour.toPrecision(7))} per GPU-hour` +
                (p.from ? ` (${p.from})` : ""),
        );
    byId("foot").append(
        prices.length
            ? el(
                  "p",
                  {},
                  `Prices: ${prices.join("; ")}. Whole nodes are billed; ` +
                      "network egress and storage are not counted.",
              )
            : "",
        el("p", {}, `Written by Astra ${DATA.version}. The page is one file and loads nothing.`),
    );
}

function redrawAll() {
    for (const redraw of SECTIONS) redraw();
}

startTheme();
drawHead();
drawCard();
drawFront();
drawTimeline();
drawBreakdown();
drawSensitivity();
drawMemory();
drawFunnel();
drawWhyNot();
drawTable();
openFromAddress();
addEventListener("hashchange", openFromAddress);

let width = innerWidth,
    waiting = 0;
addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redrawAll, 120);
});
document.documentElement.dataset.ready = "yes";
