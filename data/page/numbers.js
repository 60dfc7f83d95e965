// Numbers as the program prints them: the same units and digits as its text.
const three = (v) => v.toFixed(v < 10 ? 2 : v < 100 ? 1 : 0);

function count(v) {
    for (const [factor, letter] of [
        [1e12, "T"],
        [1e9, "B"],
        [1e6, "M"],
        [1e3, "K"],
    ])
        if (v >= 0.9995 * factor && (factor > 1e3 || v >= 1e5)) return three(v / factor) + letter;
    return v >= 1e4 ? thousands(v) : v.toFixed(0);
}

function rate(v) {
    for (const [factor, letter] of [
        [1e12, "T"],
        [1e9, "B"],
        [1e6, "M"],
        [1e3, "K"],
    ])
        if (v >= 0.9995 * factor) return three(v / factor) + letter;
    return v > 0 && v < 10 ? three(v) : v.toFixed(0);
}

const thousands = (v) => v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
const usd = (v) =>
    v < 1000 ? "$" + v.toFixed(2) : v < 1e15 ? "$" + thousands(v) : "$" + v.toPrecision(3);
const mtoken = (v) => v.toFixed(v < 0.1 ? 4 : 3);
const perToken = (v) => "$" + mtoken(v);
const gib = (v) => v.toFixed(1) + " GiB";
const percent = (v, digits) => (100 * v).toFixed(digits === undefined ? 1 : digits) + " %";

function signed(share) {
    const text = percent(Math.abs(share));
    return text === "0.0 %" ? "0.0 %" : (share < 0 ? "\u2212" : "+") + text;
}

function seconds(v) {
    if (v < 1e-3) return (v * 1e6).toFixed(1) + " us";
    if (v < 1) return (v * 1e3).toFixed(1) + " ms";
    if (v < 120) return v.toFixed(2) + " s";
    if (v < 7200) return three(v / 60) + " min";
    if (v < 48 * 3600) return three(v / 3600) + " h";
    return three(v / 86400) + " d";
}

// A scale from a range of values to a range of pixels, with ticks at round values.
function niceStep(span, most) {
    const raw = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) || 10 * power;
}

function linear(low, high, from, to, most) {
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    const step = niceStep(high - low, most);
    const first = Math.floor(low / step + 1e-9) * step,
        last = Math.ceil(high / step - 1e-9) * step;
    const scale = (v) => from + ((v - first) / (last - first)) * (to - from);
    scale.ticks = [];
    for (let i = 0; first + i * step <= last + step / 2; i++)
        scale.ticks.push(Number((first + i * step).toPrecision(12)));
    return scale;
}
