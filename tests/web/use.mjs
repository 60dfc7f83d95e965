// The page is used: by form, by script, by link; compared, exported, stopped.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, same } from "../browser/harness.mjs";
import { answered, ask, astra, download, picture, sameJson, settled, shown } from "./desk.mjs";

const FIRST = ["search", "--model", "llama3-70b", "--cluster", "64x8:H100"];
const inMade = (name) => join(process.env.BROWSER_DIR, "pages", name);

export async function firstAnswerWithoutAClick() {
    const page = await ask("first");
    sameJson("first: JSON", await shown(page), astra(...FIRST, "--format", "json"));
    check("first: card", (await page.locator("#card .tile").count()) >= 4);
    for (const id of ["front", "timeline", "breakdown", "memory", "sensitivity", "funnel", "plans"])
        check(`first: ${id}`, await page.locator("#" + id).isVisible());
    await page.waitForFunction(() => DATA.others.length > 0, null, { timeout: 60000 });
    check("first: why not", (await page.locator("#why-not .bars dt").count()) > 2);
    same(
        "first: address",
        decodeURIComponent(new URL(page.url()).hash),
        "#q=search&model=llama3-70b&cluster=64x8:H100",
    );
    await page.context().close();
}

export async function formIsAsked() {
    const page = await ask("form");
    await settled(page, () => page.fill("#f-model", "llama3-8b"));
    await settled(page, () => page.fill(".pool-row .nodes", "1..4"));
    await settled(page, () => page.fill(".pool-row .price", "2.5"));
    await settled(page, () => page.fill("#f-tokens", "1T"));
    sameJson(
        "form: JSON",
        await shown(page),
        astra(
            "search",
            "--model",
            "llama3-8b",
            "--cluster",
            "1..4x8:H100",
            "--price",
            "H100=2.5",
            "--tokens",
            "1T",
            "--format",
            "json",
        ),
    );
    const before = page.url();
    await settled(page, () => page.click("#pool-add"));
    check("form: two types", page.url() !== before && page.url().includes("A100"));
    await settled(page, () => page.locator(".pool-row .remove").nth(1).click());
    same("form: as before", page.url(), before);
    await page.context().close();
}

export async function modelsByFileAndBySizes() {
    const page = await ask("models"),
        config = readFileSync("data/models/qwen3-8b.json", "utf8");
    await settled(page, () =>
        page.setInputFiles("#config-file", {
            name: "my model.json",
            mimeType: "application/json",
            buffer: Buffer.from(config),
        }),
    );
    check(
        "config: heading",
        (await page.locator("#heading").textContent()).startsWith("my_model.json on"),
    );
    const link = page.url();
    const other = await ask("config by link", new URL(link).hash);
    sameJson("config by link: JSON", await shown(other), await shown(page));
    await other.context().close();
    await page.locator("summary", { hasText: "Sizes by hand" }).click();
    const sizes = { layers: 32, hidden: 4096, ffn: 14336, heads: 32, vocab: 32000 };
    for (const [name, size] of Object.entries(sizes))
        await page.fill(`[data-size="${name}"]`, String(size));
    await page.waitForFunction(
        () => SHOWN.question && optionOf(SHOWN.question, "model").endsWith("vocab=32000"),
    );
    await answered(page);
    sameJson(
        "sizes: JSON",
        await shown(page),
        astra(
            "search",
            "--model",
            "layers=32,hidden=4096,ffn=14336,heads=32,vocab=32000",
            "--cluster",
            "64x8:H100",
            "--format",
            "json",
        ),
    );
    await page.context().close();
}

export async function scriptIsImproved() {
    const page = await ask("script", "#q=improve&gpu=H100");
    check("script: empty state", await page.locator(".empty h1").isVisible());
    const text = readFileSync("tests/import/03_sbatch.sh", "utf8");
    await settled(page, () => page.fill("#f-script", text));
    check(
        "script: diff",
        (await page.locator(".diff .come").count()) > 3 &&
            (await page.locator(".diff .gone").count()) > 1,
    );
    writeFileSync(inMade("train.sh"), text);
    astra("improve", inMade("train.sh"), "--gpu", "H100", "-o", inMade("train.new.sh"));
    const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.click("text=Download the new script"),
    ]);
    same(
        "script: the same text",
        readFileSync(await file.path(), "utf8"),
        readFileSync(inMade("train.new.sh"), "utf8"),
    );
    check("script: fits", (await page.locator("#card .badge").textContent()) === "feasible");
    const link = await ask("script by link", new URL(page.url()).hash);
    same(
        "script by link",
        await link.locator(".diff").textContent(),
        await page.locator(".diff").textContent(),
    );
    await link.context().close();
    const slurm = await download(page, "slurm");
    check("script: exports", slurm.text.includes("--pipeline-model-parallel-size"));
    await picture(page, "script");
    await settled(page, () =>
        page.fill("#f-script", readFileSync("tests/import/16_log.txt", "utf8")),
    );
    const said = await page.locator("#changes").textContent();
    check(
        "log: flags to change",
        said.includes("What would be better") && said.includes("--"),
        said,
    );
    check("log: no diff", (await page.locator(".diff").count()) === 0);
    await picture(page, "log", false);
    await page.context().close();
}

export async function wrongInputIsMarked() {
    const page = await ask("wrong");
    const cases = [
        ["#f-global-batch", "seven", "global-batch"],
        ["#f-model", "lama3", "model"],
        [".pool-row .nodes", "many", "cluster"],
        [".pool-row .price", "cheap", "cluster"],
        ["#f-budget", "5M", "budget"],
    ];
    for (const [box, text, name] of cases) {
        const good = await page.inputValue(box);
        await settled(page, () => page.fill(box, text));
        const place = page.locator(`#f-${name}-error`);
        check(
            `wrong ${name}: said at its field`,
            (await place.isVisible()) && (await place.textContent()).length > 10,
            await page.locator(".complaint:visible").allTextContents(),
        );
        check(
            `wrong ${name}: marked`,
            (await page.locator(`#f-${name}`).getAttribute("aria-invalid")) === "true",
        );
        if (name === "model") await picture(page, "wrong", false);
        await settled(page, () => page.fill(box, good));
        check(
            `wrong ${name}: right again`,
            (await page.locator(".complaint:visible").count()) === 0,
        );
    }
    await settled(page, async () => {
        await page.locator("summary", { hasText: "More options" }).click();
        await page.fill("#f-extra", "set tp=999999");
    });
    check("wrong other option: said", (await page.locator(".complaint:visible").count()) === 1);
    await page.context().close();
}

export async function nothingFits() {
    const page = await ask("nothing", "#q=search&model=llama3-405b&cluster=1x8:H100");
    check(
        "nothing: said",
        (await page.locator(".empty pre").textContent()).includes("no strategy fits in memory"),
    );
    check("nothing: no answer", !(await page.locator("#answer").isVisible()));
    await settled(page, () => page.click(".empty button.first"));
    check("nothing: enough nodes are a click away", await page.locator("#card").isVisible());
    await page.context().close();
}

export async function answersAreCompared() {
    const page = await ask("compare");
    await page.click("#pin");
    for (const batch of ["256", "1024", "2048"]) {
        await settled(page, () => page.fill("#f-global-batch", batch));
        await page.click("#pin");
    }
    const heads = page.locator("#compare thead th");
    same("compare: four", await heads.count(), 4);
    check(
        "compare: batch differs",
        (await page.locator("#compare tr.differs th").allTextContents()).includes("global batch"),
    );
    check("compare: best marked", (await page.locator("#compare td.best").count()) > 0);
    await picture(page, "compare", false);
    await settled(page, () => page.fill("#f-global-batch", "4096"));
    await page.click("#pin");
    same("compare: the first goes", await heads.count(), 4);
    await page.locator("#compare .remove").first().click();
    same("compare: removed", await heads.count(), 3);
    await page.context().close();
}

export async function everythingIsDownloaded() {
    const page = await ask("download", "#q=search&model=llama3-8b&cluster=2x8:H100"),
        words = ["search", "--model", "llama3-8b", "--cluster", "2x8:H100"];
    const json = await download(page, "JSON");
    sameJson("download: JSON", json.text, astra(...words, "--format", "json"));
    same(
        "download: CSV",
        (await download(page, "CSV, all plans")).text,
        astra(...words, "--format", "csv"),
    );
    astra(...words, "--report", inMade("cli.html"), "--plot", inMade("cli.svg"));
    same(
        "download: report",
        (await download(page, "Report, one HTML file")).text,
        readFileSync(inMade("cli.html"), "utf8"),
    );
    same(
        "download: SVG",
        (await download(page, "Front as SVG")).text,
        readFileSync(inMade("cli.svg"), "utf8"),
    );
    writeFileSync(inMade("plan.json"), json.text);
    for (const to of [
        "megatron",
        "torchrun",
        "slurm",
        "k8s",
        "pytorchjob",
        "skypilot",
        "bridge",
        "flagscale",
    ]) {
        const file = await download(page, to);
        same(
            `download: ${to}`,
            file.text,
            astra("export", inMade("plan.json"), "--to", to).replaceAll(
                inMade("plan.json"),
                "plan.json",
            ),
        );
    }
    await page.keyboard.press("Escape");
    check(
        "download: Escape closes the menu",
        !(await page.locator("details.menu").evaluate((m) => m.open)),
    );
    await page.context().close();
}

export async function slidersAsk() {
    const page = await ask("sliders", "#q=search&model=llama3-8b&cluster=2x8:H100");
    for (const [id, key] of Object.entries({
        nodes: "ArrowRight",
        batch: "ArrowLeft",
        nic: "ArrowRight",
        price: "ArrowLeft",
    })) {
        await page.focus("#slider-" + id);
        await page.keyboard.press(key);
        const place = page.locator(".slider", { has: page.locator("#slider-" + id) }).locator("p");
        await page.waitForFunction(
            (n) =>
                /a step, .* tokens\/s/.test(
                    document.getElementById(n).closest(".slider").lastChild.textContent,
                ),
            "slider-" + id,
            { timeout: 60000 },
        );
        check(`slider ${id}`, (await place.textContent()).includes("tokens/s"));
    }
    await page.context().close();
}

export async function longSearchesShowTheBestSoFar() {
    const page = await ask(
        "mixed",
        "#q=search&model=llama3-70b&cluster=16x8:H100,16x8:A100,16x8:H200,16x8:B200",
        { wait: false },
    );
    await page.locator("#state progress").waitFor();
    await page.waitForFunction(() => SHOWN.result && SHOWN.result.early, null, { timeout: 60000 });
    check(
        "mixed: best so far",
        (await page.locator("#state").textContent()).includes("best so far, at most"),
    );
    await picture(page, "mixed", false);
    await page.click("#stop");
    check(
        "mixed: stopped",
        (await page.locator("#state").textContent()).startsWith("Stopped: the best so far"),
    );
    check(
        "mixed: kept",
        (await page.locator("#card .tile").count()) >= 4 && !(await page.evaluate(() => MAIN.busy)),
    );
    await settled(page, () =>
        page
            .fill("#f-model", "llama3-8b")
            .then(() => page.locator(".pool-row .remove").nth(3).click()),
    );
    await page.context().close();
}

export async function typingEndsASearch() {
    const page = await ask("typing", "#q=search&model=deepseek-v3&cluster=256x8:H800", {
        wait: false,
    });
    await page.locator("#state progress").waitFor();
    await settled(page, async () => {
        await page.locator("#f-model").pressSequentially("x", { delay: 5 });
        await page.fill("#f-model", "llama3-8b");
    });
    check(
        "typing: the last counts",
        (await page.locator("#heading").textContent()).startsWith("llama3-8b on"),
    );
    await page.context().close();
}

export async function recentQuestionsAreKept() {
    const page = await ask("recent");
    await settled(page, () => page.fill("#f-model", "llama3-8b"));
    await page.locator("#recent summary").click();
    same("recent: two", await page.locator("#recent li").count(), 2);
    await settled(page, () => page.locator("#recent li a").nth(1).click());
    same("recent: opened", await page.inputValue("#f-model"), "llama3-70b");
    await page.click("#recent-clear");
    check(
        "recent: cleared",
        !(await page.locator("#recent").isVisible()) &&
            (await page.evaluate(() => localStorage.getItem("astra-recent"))) === "[]",
    );
    await page.context().close();
}
