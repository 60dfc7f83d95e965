// What must hold of the page whatever is asked: nothing injected, nothing cut, offline, by keys, timed.
import { readFileSync } from "node:fs";
import { browser, check, same } from "../browser/harness.mjs";
import { address, answered, ask, astra, picture, sameJson, settled, shown } from "./desk.mjs";

const HOSTILE = `<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>`;

export async function hostileTextsStayText() {
    const page = await ask("hostile");
    const config = {
        ...JSON.parse(readFileSync("data/models/qwen3-8b.json", "utf8")),
        _name_or_path: HOSTILE,
        architectures: [HOSTILE],
    };
    await settled(page, () =>
        page.setInputFiles("#config-file", {
            name: `${HOSTILE}.json`,
            mimeType: "application/json",
            buffer: Buffer.from(JSON.stringify(config)),
        }),
    );
    await settled(page, () => page.fill("#f-model", HOSTILE));
    await settled(page, () => page.fill(".pool-row .nodes", HOSTILE));
    await page.evaluate(
        (text) =>
            localStorage.setItem(
                "astra-recent",
                JSON.stringify([{ title: text, address: "#q=" + text }, { title: 1 }, null]),
            ),
        HOSTILE,
    );
    const next = await ask(
        "hostile script",
        `#q=improve&gpu=${encodeURIComponent(HOSTILE)}&text:${encodeURIComponent(HOSTILE)}=b${Buffer.from("python pretrain_gpt.py --num-layers " + HOSTILE).toString("base64url")}`,
        { context: page.context() },
    );
    check("hostile: recent shown as text", (await next.locator("#recent li").count()) <= 2);
    await settled(next, () =>
        next.fill(
            "#f-script",
            `torchrun pretrain_gpt.py --num-layers '${HOSTILE}' --hidden-size 8 # ${HOSTILE}`,
        ),
    );
    for (const p of [page, next]) {
        check("hostile: nothing ran", (await p.evaluate(() => window.hit)) === undefined);
        same("hostile: no element", await p.locator("img, body script").count(), 0);
    }
    for (const hash of [
        "#q=",
        "#q=search&model=%E0%A4%A",
        "#q=improve&text:x=z!!!!",
        "#q=search&report=/etc/x&model=llama3-8b&cluster=1x8:H100",
        "#q=rm&x=1",
    ]) {
        const odd = await ask("odd address " + hash, hash);
        check(`odd address ${hash}`, await odd.locator("#content").isVisible());
        await odd.context().close();
    }
    await page.context().close();
}

export async function nothingIsCut() {
    const ten =
        "#q=search&model=llama3-8b&tokens=1T&cluster=" +
        ["H100", "A100", "H200", "B200", "L40S", "A100-40GB", "RTX4090", "V100", "MI300X", "GH200"]
            .map((g) => `1..8x8:${g}`)
            .join(",");
    for (const [name, hash] of [
        ["first", ""],
        ["ten", ten],
    ])
        for (const width of [1440, 1000, 390])
            for (const theme of ["light", "dark"]) {
                const page = await ask(`${name} at ${width}, ${theme}`, hash, { width, theme });
                if (width === 390) await page.locator("#ask-fold > summary").click();
                const over = await page.evaluate(
                    () => document.documentElement.scrollWidth - innerWidth,
                );
                check(`${name} at ${width}, ${theme}: no sideways scroll`, over <= 0, over);
                same(
                    `${name} ${theme}: theme`,
                    await page.evaluate(() => document.documentElement.dataset.theme),
                    theme,
                );
                await picture(page, `${name}-${width}-${theme}`);
                await page.context().close();
            }
}

export async function longNamesAreBroken() {
    const name = "a-model-with-a-name-that-somebody-made-of-everything-it-was-trained-on.json",
        config = readFileSync("data/models/qwen3-8b.json");
    for (const width of [1440, 390]) {
        const page = await ask(`long name at ${width}`, "", { width });
        const file = { name, mimeType: "application/json", buffer: config };
        await settled(page, () => page.setInputFiles("#config-file", file));
        await page.click("#pin");
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        check(`long name at ${width}: no sideways scroll`, over <= 0, over);
        await picture(page, `long-${width}`, false);
        await page.context().close();
    }
}

export async function everyControlHasAName() {
    const page = await ask("names");
    await settled(page, () => page.click("#pool-add"));
    const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("input, select, textarea, button")]
            .filter(
                (n) =>
                    n.type !== "file" &&
                    !n.labels?.length &&
                    !n.getAttribute("aria-label") &&
                    !n.textContent.trim(),
            )
            .map((n) => n.outerHTML.slice(0, 80)),
    );
    same("names: every control has one", nameless, []);
    const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map((n) => n.id));
    same("names: ids are unique", ids.length, new Set(ids).size);
    await page.context().close();
}

export async function keysAreEnough() {
    const page = await ask("keys");
    await page.keyboard.press("Tab");
    check(
        "keys: skip link first",
        await page.evaluate(() => document.activeElement.className === "skip"),
    );
    await page.keyboard.press("Enter");
    check(
        "keys: to the answer, the address stays",
        (await page.evaluate(() => document.activeElement.id)) === "content" &&
            page.url().includes("#q="),
    );
    await page.focus("#f-model");
    await page.keyboard.press("Control+A");
    await settled(page, () => page.keyboard.type("llama3-8b\n"));
    check("keys: asked", (await page.locator("#heading").textContent()).startsWith("llama3-8b"));
    await page.focus("#plans .plans td button");
    await page.keyboard.press("Enter");
    check(
        "keys: plan opened, in the address",
        (await page.locator("#plan").isVisible()) && page.url().endsWith("&plan-1"),
    );
    const link = page.url();
    await page.keyboard.press("Escape");
    check("keys: closed", !page.url().includes("&plan-"));
    const other = await ask("plan by link", new URL(link).hash);
    check("keys: link opens the plan", await other.locator("#plan").isVisible());
    await other.context().close();
    await page.context().close();
}

export async function printsTheAnswerAlone() {
    const page = await ask("print");
    await page.emulateMedia({ media: "print" });
    check(
        "print: no form",
        !(await page.locator("#ask").isVisible()) && (await page.locator("#card").isVisible()),
    );
    await page.context().close();
}

export async function worksOffline() {
    const page = await ask("online");
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null, null, {
        timeout: 30000,
    });
    await page.context().setOffline(true);
    const away = await ask("offline", "#q=search&model=llama3-8b&cluster=2x8:H100", {
        context: page.context(),
    });
    sameJson(
        "offline: answered",
        await shown(away),
        astra("search", "--model", "llama3-8b", "--cluster", "2x8:H100", "--format", "json"),
    );
    await away.goto(address + "evidence.html");
    check("offline: evidence", await away.locator("h1").isVisible());
    await page.context().close();
}

export async function policyIsStrict() {
    const html = readFileSync(`${process.env.WEB}/index.html`, "utf8"),
        policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
    check(
        "policy: nothing inline, nobody else",
        policy.startsWith("default-src 'none'") &&
            !/unsafe-inline|'unsafe-eval'|\*|https?:|data:|blob:/.test(policy),
        policy,
    );
    check(
        "policy: no inline script or style",
        !/<script(?![^>]*src=)|<style| style=| on[a-z]+=/.test(html),
    );
}

// Seconds of CPU of the page's process with all its threads, which other work beside it does not change
// as it changes the clock: an upper bound of the time on an idle machine.
const cpuOf = async (session) =>
    (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "ProcessTime")
        .value;

async function cpuOfFirst() {
    const context = await browser.newContext(),
        page = await context.newPage(),
        session = await context.newCDPSession(page);
    await page.goto(address + "evidence.html"); // the same process
    await session.send("Performance.enable");
    const before = await cpuOf(session),
        start = Date.now();
    await page.goto(address);
    await answered(page);
    const took = { cpu: (await cpuOf(session)) - before, wall: (Date.now() - start) / 1000 };
    const later = [];
    for (const batch of ["256", "512", "1024", "512"]) {
        await page.waitForFunction(() => !MAIN.busy, null, { timeout: 60000 });
        const then = await cpuOf(session);
        await settled(page, () => page.fill("#f-global-batch", batch));
        later.push((await cpuOf(session)) - then);
    }
    await context.close();
    return { ...took, later: Math.min(...later) };
}

export async function answersAreQuick() {
    const runs = [await cpuOfFirst(), await cpuOfFirst(), await cpuOfFirst()],
        least = (name) => Math.min(...runs.map((r) => r[name]));
    const text = ["cpu", "wall", "later"].map((name) => `${name} ${least(name).toFixed(2)} s`);
    console.log(`first answer and later ones: ${text.join(", ")}`);
    check("quick: first answer", least("cpu") < 2, runs);
    check("quick: later answers", least("later") < 1, runs);
}
