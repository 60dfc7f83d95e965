// What a page looks like and keeps out: colours, paper, thousands of plans, hostile names.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { browser, check, main, open, report, same, SEARCH } from "./harness.mjs";

// WCAG 2: relative luminance, 4.5 for text.
export async function coloursCanBeRead() {
    const light = (c) => {
        const [r, g, b] = c.map((v) => {
            v /= 255;
            return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    const contrast = (a, b) => {
        const [x, y] = [light(rgb(a)), light(rgb(b))].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05);
    };
    for (const theme of ["light", "dark"]) {
        const page = await open(browser, main, { theme });
        const colour = (name) =>
            page.evaluate(
                (n) => getComputedStyle(document.documentElement).getPropertyValue(n).trim(),
                name,
            );
        for (const [text, ground] of [
            ["--text", "--panel"],
            ["--soft", "--panel"],
            ["--soft", "--ground"],
            ["--accent", "--panel"],
            ["--bad", "--panel"],
            ["--bad", "--bad-ground"],
            ["--accent", "--accent-ground"],
        ])
            check(
                `${theme}: ${text} on ${ground}`,
                contrast(await colour(text), await colour(ground)) >= 4.5,
            );
        await page.context().close();
    }
    const page = await open(browser, main),
        ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await ground();
    await page.click("#theme");
    await page.click("#theme");
    check(
        "the button makes it dark",
        (await page.innerText("#theme")) === "Theme: dark" && (await ground()) !== before,
    );
    await page.context().close();
}

export async function prints() {
    const page = await open(browser, main, { theme: "dark" });
    await page.emulateMedia({ media: "print" });
    same(
        "paper is white",
        await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        "rgb(255, 255, 255)",
    );
    for (const control of [".top", ".tools", ".copy", "details"])
        check(`${control} is not printed`, await page.locator(control).first().isHidden());
    for (const id of ["front", "breakdown", "memory", "timeline", "funnel", "sensitivity"])
        check(`${id} is printed`, await page.locator(`#${id} svg`).isVisible());
    const pdf = await page.pdf({ path: join(dirname(main.path), "one-type.pdf"), format: "A4" });
    check("a document comes out", pdf.length > 20000, pdf.length);
    await page.context().close();
}

export async function thousandsOpenAtOnce() {
    const made = report("thousands", ...SEARCH, "--variants", "--top", "5000"),
        plans = made.answer.best.length;
    same("5,000 plans", plans, 5000);
    check("are under 1 MB", made.html.length < 1e6, made.html.length);
    const page = await open(browser, made);
    const ms = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domComplete);
    check("open in under a second", ms < 1000, ms);
    console.log(`5,000 plans: ${made.html.length} bytes, ${Math.round(ms)} ms`);
    check("few rows are in the document", (await page.locator(".plans tbody tr").count()) < 80);
    await page.evaluate(() => {
        const f = document.querySelector(".plans");
        f.scrollTop = f.scrollHeight;
    });
    await page.waitForSelector(".plans tr[data-plan='4999']");
    await page.fill(".filter", "tp=8 pp=2");
    const wanted = made.answer.best.filter(
        (p) => p.strategy.tp === 8 && p.strategy.pp === 2,
    ).length;
    const said = await page.innerText("#plans .tools span[aria-live]");
    check("a filter finds them", said.startsWith(wanted.toLocaleString("en-US") + " of"), [
        said,
        wanted,
    ]);
    await page.context().close();
}

export async function namesStayNames() {
    const folder = join(dirname(main.path), "odd"),
        evil = "<img src=x onerror=pwned=1>\"'&amp;<!--<script>pwned=1<x";
    mkdirSync(folder, { recursive: true });
    copyFileSync(
        join(
            import.meta.dirname || dirname(new URL(import.meta.url).pathname),
            "../../data/models/llama3-8b.json",
        ),
        join(folder, evil + ".json"),
    );
    writeFileSync(
        join(folder, "x.rules"),
        'reject tp == 8 "</script><script>pwned=1</script>\u2028<b>"\n',
    );
    const made = report(
        "names",
        "search",
        "--model",
        join(folder, evil + ".json"),
        "--cluster",
        "1x8:H100",
        "--rules",
        join(folder, "x.rules"),
    );
    same("two scripts", made.html.match(/<script/g).length, 2);
    same("two ends of them", made.html.match(/<\/script/g).length, 2);
    const page = await open(browser, made);
    check("nothing ran", await page.evaluate(() => typeof window.pwned === "undefined"));
    check(
        "the name is text",
        (await page.innerText("h1")).startsWith(evil),
        await page.innerText("h1"),
    );
    same("no picture came of it", await page.locator("img").count(), 0);
    await page.selectOption("#why-not select", "tp");
    check(
        "the rule's words are text",
        (await page.innerText("#why-not")).includes("</script><script>pwned=1"),
    );
    await page.context().close();
    // The policy refuses what is not the page's own.
    const policy = await browser.newPage();
    await policy.goto("file://" + made.path);
    await policy.evaluate(() => {
        const s = document.createElement("script");
        s.textContent = "window.pwned = 1";
        document.body.append(s);
        const b = document.createElement("b");
        b.setAttribute("onclick", "window.pwned = 1");
        document.body.append(b);
        b.click();
    });
    check(
        "scripts of others do not run",
        await policy.evaluate(() => typeof window.pwned === "undefined"),
    );
    await policy.close();
}

// Two types on a front, wide and on a phone: marks of the legend are marks, and no step of the front
// goes through a label.
export async function frontIsLegible() {
    const two = report(
        "legible",
        "search",
        "--model",
        "llama3-8b",
        "--cluster",
        "1..4x8:A100,1..4x8:H100",
        "--mix",
        "2",
    );
    for (const width of [1440, 390]) {
        const page = await open(browser, two, { width });
        const sizes = await page.evaluate(() =>
            [...document.querySelectorAll("#front .legend svg")].map((s) => s.clientWidth),
        );
        check(
            `marks of the legend at ${width}`,
            sizes.length > 1 && sizes.every((s) => s === 16),
            sizes,
        );
        const struck = await page.evaluate(() => {
            const path = document.querySelector("#front .step"),
                labels = [...document.querySelectorAll('#front text[text-anchor="middle"].halo')],
                points = [];
            for (let at = 0; at < path.getTotalLength(); at++)
                points.push(path.getPointAtLength(at));
            const inside = (b, p) =>
                p.x > b.x + 2 &&
                p.x < b.x + b.width - 2 &&
                p.y > b.y + 2 &&
                p.y < b.y + b.height - 2;
            return labels
                .filter((l) => points.some((p) => inside(l.getBBox(), p)))
                .map((l) => l.textContent);
        });
        same(`labels of the front at ${width}`, struck, []);
        await page.context().close();
    }
}
