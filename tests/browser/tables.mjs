// What is said in words and tables: other values, filters, orders, the same as a table, limits.
import { browser, check, main, open, report, same } from "./harness.mjs";

const search = (name, model, cluster, ...more) =>
    report(name, "search", "--model", model, "--cluster", cluster, ...more);

export async function otherValuesAreJudged() {
    const mixed = search("mixed-moe", "mixtral-8x7b", "2x8:A100,1x8:H100", "--gpus", "24");
    const moe = search("large-moe", "deepseek-v3", "64x8:H100");
    const meshes = search("meshes", "llama3-70b", "8x8:H100,8x8:A100", "--engine", "flagscale");
    for (const made of [main, moe, mixed, meshes]) {
        const page = await open(browser, made);
        const rows = await page.evaluate(() =>
            DATA.others.map((o) => ({
                what: `${o.param}=${o.value}`,
                best: o.best,
                feasible: o.feasible,
                more: o.feasible ? o.step_s / figure(0, "step_s") - 1 : 0,
                verdict: whyNotVerdict(o),
                chosen: o.chosen,
            })),
        );
        for (const r of rows.filter((o) => !o.chosen && o.feasible)) {
            // within the resolution the simpler one is first
            check(`${made.name}, ${r.what}: none is faster`, r.more > -0.0105, r);
            const right = Math.abs(r.more) < 0.0005 ? "as fast" : r.more < 0 ? "faster" : "slower";
            check(`${made.name}, ${r.what}: ${right}`, r.verdict.endsWith(right), r);
        }
        for (const r of rows.filter((o) => !o.chosen && !o.feasible))
            same(
                `${made.name}, ${r.what}: who says no`,
                r.verdict,
                r.best ? "not possible" : "not with the rest of plan 1 unchanged",
            );
        const lead = await page.innerText("#why-not .lead"),
            searched = rows.filter((r) => !r.chosen && r.best).length,
            near = rows.filter((r) => !r.chosen && !r.best).length;
        same(`${made.name}: lead of the best`, lead.includes("the best plan that"), searched > 0);
        same(`${made.name}: lead of the others`, lead.includes("nothing but the value"), near > 0);
        same(
            `${made.name}: a faster one is called so`,
            await page.evaluate(() => [whyNotSpeed(-0.1), whyNotSpeed(0.1), whyNotSpeed(0)]),
            ["10.0 % faster", "10.0 % slower", "as fast"],
        );
        await page.context().close();
    }
}

export async function frontWithoutPlanOne() {
    const made = search("unpriced-best", "llama3-8b", "1..4x8:H800,1..2x8:H100");
    same("plan 1 has no price", made.answer.best[0].usd_per_mtoken ?? null, null);
    check("the front has plans", made.answer.pareto.length > 0);
    const page = await open(browser, made);
    same("they are drawn", await page.locator("#front .point").count(), made.answer.pareto.length);
    const lead = await page.innerText("#front .lead");
    check("plan 1 is missed", lead.includes("Plan 1 is not here"), lead);

    const rows = () => page.locator(".plans tr[data-plan]").count(),
        cells = (k) => page.locator(`.plans tr[data-plan] td:nth-child(${k})`).allInnerTexts();
    const heads = await page.locator(".plans th").allInnerTexts(),
        price = heads.findIndex((h) => h.includes("$/M")) + 1;
    await page.fill(".filter", "$/mtoken<1000");
    const priced = await rows();
    check("what is not known is not below 1000", priced > 0, priced);
    check("of no row", (await cells(price)).every((t) => t !== ""));
    await page.fill(".filter", "");
    for (const way of ["ascending", "descending"]) {
        await page.locator(".plans th button", { hasText: "$/M" }).click();
        same("order", await page.getAttribute(".plans th[aria-sort]", "aria-sort"), way);
        const known = (await cells(price)).map((t) => t !== ""),
            first = known.indexOf(false);
        check(`unknown ones last, ${way}`, first > 0 && !known.slice(first).includes(true), known);
    }
    await page.context().close();
}

export async function filtersTakeNamesOfSet() {
    const page = await open(browser, main),
        { best, pareto } = main.answer;
    const plans = [...best, ...pareto.filter((p) => !best.some((b) => b.step_s === p.step_s))],
        said = () => page.innerText("#plans .tools span[aria-live]");
    const wanted = (holds) => `${plans.filter(holds).length} of ${plans.length}`;
    for (const [filter, holds] of [
        ["ep=1", (p) => p.strategy.ep === 1],
        ["ep==1", (p) => p.strategy.ep === 1],
        ["ep!=1", (p) => p.strategy.ep !== 1],
        ["seq_parallel=on", (p) => p.strategy.seq_parallel === true],
        ["recompute=selective", (p) => p.strategy.recompute === "selective"],
        ["tp=2,4", (p) => [2, 4].includes(p.strategy.tp)],
        ["tp!=2,4", (p) => ![2, 4].includes(p.strategy.tp)],
        ["mfu>40", (p) => p.mfu > 0.4],
        ["mfu>0.4", (p) => p.mfu > 0.4],
        ["tokens/s>400k", (p) => p.tokens_per_s > 400e3],
        ["tp=4 tokens/s<0.4m", (p) => p.strategy.tp === 4 && p.tokens_per_s < 400e3],
    ]) {
        await page.fill(".filter", filter);
        same(`filter ${filter}`, await said(), wanted(holds));
    }
    await page.fill(".filter", "tq=4");
    same("no such column", await said(), wanted(() => true) + ", no column tq");
    await page.context().close();
}

export async function tablesFollowTheirChart() {
    const page = await open(browser, main);
    const told = () => page.locator("#memory .alternative tbody tr").allInnerTexts();
    await page.locator("#memory summary").click();
    const first = await told();
    same("stages of plan 1", first.length, main.answer.best[0].stages.length);
    for (const i of [1, 2, 3]) {
        await page.selectOption("#memory select", String(i));
        check(`plan ${i + 1} has other figures`, (await told()).join() !== first.join());
        same(`stages of plan ${i + 1}`, (await told()).length, main.answer.best[i].stages.length);
        same(
            `as the chart of plan ${i + 1} has them`,
            await told(),
            await page.evaluate((k) => STAGES.get(k).map((s, n) => stageRow(s, n).join("\t")), i),
        );
    }
    await page.context().close();
}

export async function whatIfsAreReadWhole() {
    const asked = ["nic:h100=x2", "gpus=256", "price:h100=-20%"].flatMap((w) => ["--what-if", w]);
    const made = search("what-if", "llama3-70b", "64x8:H100", ...asked);
    for (const width of [1440, 390]) {
        const page = await open(browser, made, { width });
        const box = page.locator("#sensitivity .scroll", { has: page.locator(".what-if") });
        same("reached by keys", await box.getAttribute("tabindex"), "0");
        check("has a name", await box.getAttribute("aria-label"));
        const cut = await box.evaluate((n) => n.scrollWidth - n.clientWidth);
        check(`is whole at ${width}`, width < 1440 || cut <= 0, cut);
        await page.context().close();
    }
}

export async function keysStayInView() {
    const page = await open(browser, main);
    const inView = () =>
        page.evaluate(() => {
            const box = RANKS[VIEW.rank].boxes[VIEW.box];
            return box && box.start >= VIEW.from && box.end <= VIEW.to;
        });
    for (let k = 0; k < 3; k++) await page.click("#timeline [aria-label='zoom in']");
    await page.locator("#timeline svg").focus();
    await page.keyboard.press("ArrowRight");
    check(
        "begins in view",
        await page.evaluate(
            () => VIEW.from > 0 && VIEW.box > 0 && touchesView(RANKS[0].boxes[VIEW.box]),
        ),
    );
    const from = await page.evaluate(() => VIEW.from);
    for (let k = 0; k < 60; k++) {
        await page.keyboard.press("ArrowRight");
        if (!(await inView())) break;
    }
    check("stays in view", await inView());
    check("which moves", (await page.evaluate(() => VIEW.from)) > from);
    check("the frame is seen", await page.locator("#timeline .ring").isVisible());
    same(
        "a finger scrolls",
        await page.locator("#timeline svg").evaluate((n) => getComputedStyle(n).touchAction),
        "pan-y",
    );
    await page.context().close();
}

export async function manyMicroBatchesAreDrawn() {
    const made = report(
        "many-passes",
        ...["estimate", "--model", "llama3-8b", "--cluster", "1x8:H100", "--set", "tp=2"],
        ...["--set", "pp=4", "--set", "dist_opt=off", "--global-batch", "400000"],
    );
    const page = await open(browser, made);
    const least = await page.evaluate(() =>
        Math.min(...RANKS.flatMap((r) => r.boxes.map((b) => b.end - b.start))),
    );
    check("no pass vanishes", least > 10, least);
    await page.context().close();
}

export async function typesHaveMarks() {
    const made = search("marks", "llama3-70b", "8x8:H100,8x8:A100");
    const page = await open(browser, made);
    const shapes = (selector) =>
        page.locator(selector).evaluateAll((all) => {
            const colour = (n) => [...n.classList].find((c) => /^f\d/.test(c)),
                kind = (n) => n.getAttribute("d").replace(/[-\d. ]+/g, "") + colour(n);
            return [...new Set(all.map(kind))].sort();
        });
    const legend = await shapes("#front .legend path");
    same("marks of the legend", legend, await shapes("#front .point, #front .beside"));
    check("one for each type", legend.length >= 2);
    await page.context().close();
}

export async function typesHaveLimits() {
    const made = search("two-limits", "llama3-8b", "1x8:H200,1x8:H100", "--gpus", "16");
    const types = new Set(made.answer.best[0].stages.map((s) => s.gpu)).size;
    same("plan 1 is mixed", types, 2);
    const page = await open(browser, made);
    const names = await page.locator("#memory .limit-name").allTextContents();
    same("a limit for each type", names.length, 2);
    for (const type of ["H200", "H100"])
        check(
            `with its name, ${type}`,
            names.some((n) => n.includes(type)),
            names,
        );
    await page.context().close();
}
