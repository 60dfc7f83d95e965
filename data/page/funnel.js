// How many strategies there were, and what dropped them. Counts span ten powers of ten and more,
// so that lengths are those of their digits.
const MEMORY_REASON = "does not fit in memory",
    SLOWER_REASON = "slower than the plans kept";
const MOST_REASONS = 8,
    FUNNEL_ROW = 40;

function funnelSteps() {
    const f = DATA.funnel,
        dropped = (reason) =>
            f.drops.filter(([r]) => r === reason).reduce((sum, [, n]) => sum + n, 0);
    const steps = [["strategies in the space", f.generated]];
    if (!f.mixed) {
        const fit = f.kept + dropped(SLOWER_REASON),
            allowed = fit + dropped(MEMORY_REASON);
        steps.push(["allowed by rules and GPUs", allowed], ["fit in memory", fit]);
    }
    steps.push(
        ["judged one by one", f.judged],
        ["pipelines run exactly", f.simulated],
        ["plans on this page", P.count],
    );
    return steps;
}

function drawFunnel() {
    const f = DATA.funnel;
    if (!f) return;
    const part = section(
        "funnel",
        "The funnel of the search",
        "Funnel",
        "Lengths are logarithmic: each grid line is a thousand times the one before.",
        "right",
    );
    const steps = funnelSteps();
    const merged = new Map();
    for (const [reason, n] of f.drops) merged.set(reason, (merged.get(reason) || 0) + n);
    const drops = [...merged].sort((a, b) => b[1] - a[1]).slice(0, MOST_REASONS);
    drawn(part, (width) => funnelPicture(width, steps, drops));
    alternative(part, ["what", "strategies"], () => [
        ...steps.map(([n, v]) => [n, count(v)]),
        ...[...merged].map(([r, n]) => ["dropped: " + r, count(n)]),
    ]);
}

function funnelPicture(width, steps, drops) {
    const most = Math.log10(Math.max(10, DATA.funnel.generated)),
        share = (v) => (v < 1 ? 0 : 0.04 + (0.96 * Math.log10(v)) / most),
        x = (v) => share(v) * (width - 64);
    const second = (steps.length + 1) * FUNNEL_ROW,
        height = drops.length ? second + drops.length * FUNNEL_ROW - 8 : second - FUNNEL_ROW,
        words = steps.map(([name, v]) => `${name} ${count(v)}`).join(", "),
        picture = canvas(width, height, "Funnel: " + words);
    for (let power = 3; power <= most; power += 3) {
        const at = x(10 ** power);
        picture.append(svg("line", { class: "grid", x1: at, x2: at, y1: 0, y2: height }));
    }
    if (drops.length)
        picture.append(label(0, second - FUNNEL_ROW + 26, "What dropped most", "strong"));
    listen(picture, [
        ...steps.map((step, k) => funnelBar(picture, step, k * FUNNEL_ROW, x, k ? 1 : 9, width)),
        ...drops.map((drop, k) => funnelBar(picture, drop, second + k * FUNNEL_ROW, x, 8, width)),
    ]);
    return picture;
}

function funnelBar(picture, [name, v], y, x, colour, width) {
    const place = { x: 0, y: y + 18, width: Math.max(2, x(v)), height: 12, rx: 3 },
        node = svg("rect", { class: "f" + colour, ...place });
    picture.append(label(0, y + 13, fitting(name, width), "soft halo"), node);
    picture.append(label(x(v) + 7, y + 28.5, count(v), "halo"));
    const share = percent(v / DATA.funnel.generated, 2);
    return { node, title: name, lines: [`${count(v)} strategies, ${share} of all`] };
}
