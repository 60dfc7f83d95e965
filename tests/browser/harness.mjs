// What the tests of pages share: reports made by the program, a browser, and a count of what held.
// From the environment: ASTRA (the program), BROWSER_DIR (a folder for what is made, with
// node_modules), CHROMIUM.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const dir = process.env.BROWSER_DIR,
    astra = process.env.ASTRA;
const { chromium } = createRequire(join(dir, "package.json"))("playwright-core");
const made = join(dir, "pages");
mkdirSync(made, { recursive: true });

const FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

// Runs a command with --report; returns the page's path and the answer as JSON. An infeasible plan
// has a page too.
export function report(name, ...words) {
    const path = join(made, name + ".html");
    let text;
    try {
        text = execFileSync(astra, [...words, "--format", "json", "--report", path], {
            encoding: "utf8",
            maxBuffer: 1 << 30,
            stdio: ["ignore", "pipe", "ignore"],
        });
    } catch (error) {
        if (error.status !== 1 || !error.stdout) throw error;
        text = error.stdout;
    }
    return { name, path, answer: JSON.parse(text), html: readFileSync(path, "utf8") };
}

let passed = 0,
    failed = 0;
export function check(what, holds, detail) {
    if (holds) passed++;
    else {
        failed++;
        console.log(`FAIL ${what}${detail === undefined ? "" : ": " + JSON.stringify(detail)}`);
    }
}
export const same = (what, a, b) => check(what, JSON.stringify(a) === JSON.stringify(b), [a, b]);

export function finish() {
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}

export const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: FLAGS,
});

// The question that most tests look at.
export const SEARCH = ["search", "--model", "llama3-70b", "--cluster", "64x8:H100"];
export const main = report("one-type", ...SEARCH);

// Opens a report; whatever goes to the console or the network beside the page itself is a failure.
export async function open(browser, made, { width = 1440, theme = "light", hash = "" } = {}) {
    const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme: theme,
    });
    const page = await context.newPage(),
        where = `${made.name} at ${width}, ${theme}`;
    page.on("console", (m) => check(`${where}: console`, false, m.text()));
    page.on("pageerror", (e) => check(`${where}: error`, false, e.message));
    page.on("request", (r) => {
        if (!r.url().startsWith("file://" + encodeURI(made.path)))
            check(`${where}: request`, false, r.url());
    });
    await page.goto("file://" + made.path + hash);
    check(
        `${where}: drawn`,
        await page.evaluate(() => document.documentElement.dataset.ready === "yes"),
    );
    return page;
}

export const shot = (page, name) =>
    page.screenshot({ path: join(made, name + ".png"), fullPage: true });
