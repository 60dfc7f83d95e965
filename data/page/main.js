// Starts the page of a report: its data lies in it.
const planAddress = (i) => (i < 0 ? location.pathname + location.search : "#plan-" + (i + 1));
const madeOf = () => "The page is one file and loads nothing.";

function openFromAddress() {
    const m = /^#plan-(\d+)$/.exec(location.hash),
        i = m ? Number(m[1]) - 1 : -1;
    if (i >= 0 && i < P.count) openPlan(i);
}

startTheme();
const written = JSON.parse(byId("data").textContent);
if (written.comparison) {
    showComparison(written);
} else {
    showAnswer(written);
    openFromAddress();
    addEventListener("hashchange", openFromAddress);
}
document.documentElement.dataset.ready = "yes";
