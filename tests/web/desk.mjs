// What tests of the planner's page share: a static server below a sub-path, and a page whose console
// and requests are watched. WEB is the folder that make web wrote, ASTRA the program.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { browser, check } from "../browser/harness.mjs";

const { WEB, ASTRA, BROWSER_DIR } = process.env;
const TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
};
const BELOW = "/some/where/";

const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname),
        file = path.slice(BELOW.length) || "index.html";
    try {
        if (!path.startsWith(BELOW) || file.includes("..")) throw new Error("not here");
        const bytes = readFileSync(join(WEB, file));
        response.writeHead(200, {
            "Content-Type": TYPES[extname(file)] || "application/octet-stream",
        });
        response.end(bytes);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
export const address = `http://127.0.0.1:${server.address().port}${BELOW}`;
export const closeServer = () => server.close();

export async function answered(page) {
    const done = () =>
        document.getElementById("content").getAttribute("aria-busy") === "false" &&
        SHOWN.address !== "";
    await page.waitForFunction(done, null, { timeout: 120000, polling: 20 });
}

// Opens the page and waits for its answer.
export async function ask(
    name,
    hash = "",
    { width = 1440, theme = "light", wait = true, context } = {},
) {
    const own =
        context ||
        (await browser.newContext({
            viewport: { width, height: 900 },
            colorScheme: theme,
            acceptDownloads: true,
        }));
    const page = await own.newPage();
    page.on("console", (m) => check(`${name}: console`, false, m.text()));
    page.on("pageerror", (e) => check(`${name}: error`, false, e.message));
    page.on("request", (r) => {
        if (!r.url().startsWith(address) && !r.url().startsWith("blob:"))
            check(`${name}: request`, false, r.url());
    });
    await page.goto(address + hash);
    if (wait) await answered(page);
    return page;
}

// Waits until what the form asks now is answered; the form is read a moment after the last key.
export async function settled(page, act) {
    const before = await page.evaluate(() => latest);
    await act();
    await page.waitForFunction((n) => latest > n, before, { timeout: 30000, polling: 20 });
    await answered(page);
}

export const shown = (page) => page.evaluate(() => SHOWN.result.answer.json);

const masked = (text) => text.replace(/("elapsed_s": )[-+.0-9eE]+/, "$1ELAPSED");
export const sameJson = (what, a, b) => check(what, masked(a) === masked(b), [a.length, b.length]);

export function astra(...words) {
    const { stdout } = spawnSync(ASTRA, words, {
        encoding: "utf8",
        maxBuffer: 1 << 28,
        cwd: BROWSER_DIR,
    });
    return stdout;
}

// Clicks an entry of the menu and returns the text of the file that comes.
export async function download(page, name) {
    if (!(await page.locator("details.menu").evaluate((m) => m.open)))
        await page.locator("details.menu > summary").click();
    const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.locator("details.menu").getByRole("button", { name, exact: true }).click(),
    ]);
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

export const picture = (page, name, fullPage = true) =>
    page.screenshot({ path: join(BROWSER_DIR, "pages", `web-${name}.png`), fullPage });
