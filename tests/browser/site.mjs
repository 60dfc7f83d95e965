// The manual from disk: every page opens narrow and wide without a word on the console, without a
// request for anything but its own files and without sideways scrolling; the search finds.
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { browser, check, finish, same, shot } from "./harness.mjs";

const site = process.env.SITE;
const pages = readdirSync(site, { recursive: true })
    .filter((name) => name.endsWith(".html") && !name.startsWith("planner"))
    .sort();

// A window that watches what its pages do.
async function visitor(width, theme, options = {}) {
    const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme: theme,
        ...options,
    });
    const page = await context.newPage();
    const at = () => relative("file://" + site, page.url());
    page.on("console", (m) => check(`site at ${width}: ${at()}: console`, false, m.text()));
    page.on("pageerror", (e) => check(`site at ${width}: ${at()}: error`, false, e.message));
    page.on("request", (r) => {
        if (!r.url().startsWith("file://" + site + "/"))
            check(`site at ${width}: ${at()}: request`, false, r.url());
    });
    page.to = (name) => page.goto("file://" + join(site, name));
    return page;
}

async function everyPageOpens() {
    check("the site has its pages", pages.length > 70, pages.length);
    for (const [width, theme] of [
        [390, "dark"],
        [1280, "light"],
    ]) {
        const page = await visitor(width, theme);
        for (const name of pages) {
            await page.to(name);
            const seen = await page.evaluate(() => ({
                wide: document.documentElement.scrollWidth,
                theme: document.documentElement.dataset.theme,
                heads: document.querySelectorAll("h1").length,
                current: document.querySelectorAll("#pages [aria-current]").length,
                // Opened from disk a picture that is missing says nothing on the console.
                missing: [...document.images].filter((i) => i.complete && !i.naturalWidth).length,
                uncopied: document.querySelectorAll(".code:not(:has(.copy))").length,
            }));
            check(`${name} at ${width}: no sideways scrolling`, seen.wide <= width, seen.wide);
            delete seen.wide;
            same(`${name} at ${width}`, seen, {
                theme,
                heads: 1,
                current: 1,
                missing: 0,
                uncopied: 0,
            });
        }
        for (const name of ["index.html", "doc/tutorial.html", "doc/json.html"]) {
            await page.to(name);
            await shot(page, `site-${name.replace("/", "-")}-${width}`);
        }
        await page.context().close();
    }
}

async function searchFinds() {
    const page = await visitor(1280, "light");
    await page.to("doc/commands/search.html");
    await page.keyboard.press("/");
    await page.keyboard.type("bubble");
    await page.waitForSelector("#found a");
    check("the word is marked", (await page.innerText("#found mark")).toLowerCase() === "bubble");
    const first = await page.getAttribute("#found [aria-selected=true]", "href");
    await page.keyboard.press("ArrowDown");
    const second = await page.getAttribute("#found [aria-selected=true]", "href");
    check("arrows choose", first !== second, [first, second]);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.href.endsWith(second.replace(/^(\.\.\/)*/, "")));
    check("what was found has the word", /bubble/i.test(await page.innerText("main")));

    await page.fill("#find", "spot interruptions");
    await page.waitForSelector("#found a");
    const texts = await page.$$eval("#found a", (all) => all.map((a) => a.href));
    check("both words", texts.some((href) => /outages|money|prices/.test(href)), texts);
    await page.fill("#find", "qwertzuiop");
    same("nothing is said", await page.innerText("#found"), "Nothing found.");
    await page.keyboard.press("Escape");
    check("Escape closes", await page.isHidden("#found"));
    await page.context().close();
}

async function itIsUsed() {
    const page = await visitor(390, "light");
    await page.to("doc/tutorial.html");
    check("pages are folded away", !(await page.isVisible("#pages a")));
    await page.click("#pages-fold > summary");
    check("and unfold", await page.isVisible("#pages a"));
    await page.click(".steps .next");
    check("next leads on", page.url().endsWith("doc/faq.html"), page.url());
    await page.click("#theme");
    await page.click("#theme");
    same("dark by choice", await page.getAttribute("html", "data-theme"), "dark");
    await page.context().close();

    const copying = await visitor(1280, "light", {
        permissions: ["clipboard-read", "clipboard-write"],
    });
    await copying.to("doc/tutorial.html");
    const block = copying.locator(".code:has(.output)").first();
    const wanted = await block.locator(".command").allInnerTexts();
    await block.hover();
    await block.locator(".copy").click();
    await copying.waitForFunction(() => /Copied/.test(document.body.innerText));
    same(
        "commands are copied, not what they print",
        await copying.evaluate(() => navigator.clipboard.readText()),
        wanted.join("\n") + "\n",
    );
    await copying.context().close();

    const plain = await visitor(1280, "light", { javaScriptEnabled: false });
    await plain.to("doc/faq.html");
    check("readable without scripts", (await plain.innerText("main")).length > 1000);
    await plain.context().close();
}

for (const test of [everyPageOpens, searchFinds, itIsUsed])
    try {
        await test();
    } catch (error) {
        check(test.name, false, error.message);
    }
await browser.close();
finish();
