// What a page shows and does: marks, pointer, keys, zoom, table, flags.
import { execFileSync } from "node:child_process";
import { browser, check, main, open, same } from "./harness.mjs";

export async function marksAreThose() {
    const page = await open(browser, main),
        { best, pareto, funnel } = main.answer;
    const count = (selector) => page.locator(selector).count();
    same("points of the front", await count("#front .point"), pareto.length);
    const listed = best.filter(
        (b) => !pareto.some((p) => p.step_s === b.step_s && p.gpus === b.gpus),
    );
    same("listed plans beside it", await count("#front .beside"), listed.length);
    const parts = (p) =>
        Object.values(p.breakdown).filter((s) => Math.round((1000 * s) / p.step_s) > 0).length;
    same(
        "parts of the time",
        await count("#breakdown .segment"),
        best.slice(0, 10).reduce((sum, p) => sum + parts(p), 0),
    );
    const filled = (s) => Object.values(s.memory).filter((b) => Math.round(b / 2 ** 20) > 0).length;
    same(
        "parts of the memory",
        await count("#memory .segment"),
        best[0].stages.reduce((sum, s) => sum + filled(s), 0),
    );
    same("limits of the memory", await count("#memory line.limit"), best[0].stages.length);
    const { pp, vpp, dp, micro_batch, global_batch } = best[0].strategy;
    same(
        "passes",
        Number(await page.getAttribute("#timeline svg", "data-passes")),
        (2 * pp * vpp * global_batch) / dp / micro_batch,
    );
    same(
        "steps and reasons of the funnel",
        await count("#funnel rect"),
        6 + Math.min(8, Object.keys(funnel.dropped).length),
    );
    same("changes of inputs", await count("#sensitivity .mark"), 11);
    same("values of tp", await count("#why-not dt"), 7);
    await page.selectOption("#why-not select", "recompute");
    same("values of recompute", await page.locator("#why-not dt").allInnerTexts(), [
        "none",
        "selective",
        "full",
    ]);
    same("contents", await count("#contents a"), await count("section.chart"));
    await page.locator("#front summary").click();
    await page.waitForSelector("#front tbody tr");
    same("front as a table", await count("#front tbody tr"), pareto.length);
    await page.context().close();
}

export async function pointerAndKeys() {
    const page = await open(browser, main);
    const point = page.locator("#front .point").first();
    await point.hover();
    check("hover shows the plan", (await page.innerText("#tip")).includes("tokens/s"));
    await page.mouse.move(5, 5);
    check("and hides it", await page.isHidden("#tip"));
    await point.click();
    check("click opens it", await page.locator("dialog[open]").isVisible());
    check("the address keeps it", /#plan-\d+$/.test(page.url()), page.url());
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.hash, { timeout: 2000 }).catch(() => {}); // told below
    check(
        "Escape closes it",
        !(await page.locator("dialog[open]").count()) && !page.url().includes("#"),
    );
    await page.locator("#front svg").focus();
    await page.keyboard.press("ArrowRight");
    check(
        "arrows walk",
        (await page.innerText("#tip")).includes("Front plan 1, on the front"),
        await page.innerText("#tip"),
    );
    check("and are spoken", (await page.textContent("#spoken")).includes("tokens/s"));
    await page.keyboard.press("Enter");
    check("Enter opens", (await page.innerText("dialog h2")).startsWith("Front plan 1"));
    await page.keyboard.press("Escape");
    await page.locator("#timeline svg").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    check(
        "passes by key",
        (await page.textContent("#spoken")).startsWith("Stage 1: forward of micro-batch 0"),
        await page.textContent("#spoken"),
    );
    await page.context().close();
    const direct = await open(browser, main, { hash: "#plan-3" });
    check("an address opens a plan", (await direct.innerText("dialog h2")).startsWith("Plan 3"));
    await direct.context().close();
}

export async function timelineZooms() {
    const page = await open(browser, main),
        passes = async () => Number(await page.getAttribute("#timeline svg", "data-passes"));
    const all = await passes();
    await page.click("#timeline [aria-label='zoom in']");
    const half = await passes();
    check("zoom shows fewer passes", half < all && half > 0, [all, half]);
    await page.locator("#timeline svg").scrollIntoViewIfNeeded();
    const box = await page.locator("#timeline svg").boundingBox();
    await page.mouse.move(box.x + 300, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 420, box.y + 40, { steps: 4 });
    await page.mouse.up();
    check("dragging zooms in", (await passes()) < half);
    check("passes are numbered then", (await page.locator("#timeline .inside").count()) > 3);
    await page.mouse.dblclick(box.x + 300, box.y + 40);
    same("double-click shows all", await passes(), all);
    await page.context().close();
}

export async function tableSortsAndFilters() {
    const page = await open(browser, main),
        { best, pareto } = main.answer;
    const column = async (k) =>
        await page.locator(`.plans tr[data-plan] td:nth-child(${k})`).allInnerTexts();
    same(
        "in order",
        (await column(1)).slice(0, 10),
        best.map((_, i) => String(i + 1)),
    );
    await page.locator(".plans th button", { hasText: /^step$/ }).click();
    await page.locator(".plans th button", { hasText: /^step$/ }).click();
    const steps = (await column(3)).map((t) => parseFloat(t));
    same(
        "slowest first",
        steps,
        [...steps].sort((a, b) => b - a),
    );
    same(
        "and says so",
        await page.locator(".plans th[aria-sort]").getAttribute("aria-sort"),
        "descending",
    );
    await page.fill(".filter", "tp=4 dp>16");
    const plans = [...best, ...pareto.filter((p) => !best.some((b) => b.step_s === p.step_s))];
    same(
        "filtered",
        await page.locator(".plans tr[data-plan]").count(),
        plans.filter((p) => p.strategy.tp === 4 && p.strategy.dp > 16).length,
    );
    await page.fill(".filter", "no such plan");
    same("nothing left", await page.locator(".plans tr[data-plan]").count(), 0);
    await page.fill(".filter", "");
    await page.check("#plans input[type=checkbox]");
    same("front alone", await page.locator(".plans tr[data-plan]").count(), pareto.length);
    await page.context().close();
}

export async function flagsAreCopied() {
    const page = await open(browser, main);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const words = (text) =>
        execFileSync("bash", ["-c", "printf '%s\\n' " + text], { encoding: "utf8" })
            .trim()
            .split("\n"); // as pasted
    await page.click("#card .copy");
    const first = words(await page.evaluate(() => navigator.clipboard.readText()));
    same("flags of plan 1", [...first].sort(), [...main.answer.best[0].engine.flags].sort());
    check(
        "flags of plan 1: those of the model behind",
        first.indexOf("--num-layers") > first.indexOf("--overlap-grad-reduce"),
        first,
    );
    for (const i of [2, 5, 9]) {
        await page.click(`.plans tr[data-plan="${i}"] button`);
        await page.click("dialog .copy");
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        same(
            `flags of plan ${i + 1}`,
            words(copied).sort(),
            [...main.answer.best[i].engine.flags].sort(),
        );
        await page.keyboard.press("Escape");
    }
    await page.context().close();
}
