// One answer, from its data to all that is drawn of it; another one takes its place.
// A long pool is counted; the line below has all of it, broken behind its commas.
function poolWords() {
    const types = DATA.cluster.split(",").length;
    return DATA.cluster.length > 60 && types > 1 ? `${types} types of GPU` : DATA.cluster;
}

function drawHead() {
    byId("heading").textContent = `${DATA.model.name} on ${poolWords()}`;
    byId("question").textContent = DATA.question.replace(/,(?=\S)/g, ",\u200b");
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
        el("p", {}, `Written by Astra ${DATA.version}. ${madeOf()}`),
    );
}

// Emptied before, so that what is shown is of one answer.
function showAnswer(data) {
    DATA = data;
    takePlans();
    takeMemory();
    takeTimeline();
    SECTIONS.length = 0;
    TABLE = null;
    for (const place of PLACES) byId(place).replaceChildren();
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
}

function redrawAll() {
    if (DATA) for (const redraw of SECTIONS) redraw();
}

let width = innerWidth,
    waiting = 0;
addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redrawAll, 120);
});
