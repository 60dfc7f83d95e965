// A smoke test in Firefox, by its own remote protocol (Marionette): the page answers as the program
// does, a script is improved, and nothing fails.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, same } from "../browser/harness.mjs";
import { address, astra } from "./desk.mjs";

const PORT = 2900 + (process.pid % 1000);

// "LENGTH:[type, id, error, result]", one after the other.
class Marionette {
    constructor(socket) {
        this.socket = socket;
        this.text = Buffer.alloc(0);
        this.waiting = new Map();
        this.count = 0;
        socket.on("data", (bytes) => this.take(bytes));
    }

    take(bytes) {
        this.text = Buffer.concat([this.text, bytes]);
        for (;;) {
            const at = this.text.indexOf(":"),
                length = Number(this.text.subarray(0, at));
            if (at < 0 || this.text.length < at + 1 + length) return;
            const message = JSON.parse(this.text.subarray(at + 1, at + 1 + length));
            this.text = this.text.subarray(at + 1 + length);
            if (!Array.isArray(message)) continue;
            const [, id, error, result] = message,
                [resolve, reject] = this.waiting.get(id);
            if (error) reject(new Error(error.message));
            else resolve(result && "value" in result ? result.value : result);
        }
    }

    send(name, parameters = {}) {
        const id = ++this.count,
            text = Buffer.from(JSON.stringify([0, id, name, parameters]));
        this.socket.write(Buffer.concat([Buffer.from(`${text.length}:`), text]));
        return new Promise((resolve, reject) => this.waiting.set(id, [resolve, reject]));
    }

    run(script, ...args) {
        return this.send("WebDriver:ExecuteAsyncScript", {
            script: `const done = arguments[arguments.length - 1]; (async () => { ${script} })().then(done, (e) => done("failed: " + e));`,
            args,
            scriptTimeout: 120000,
        });
    }
}

async function reach(tries) {
    for (;;) {
        try {
            return await new Promise((resolve, reject) => {
                const socket = connect(PORT, "127.0.0.1", () => resolve(socket));
                socket.on("error", reject);
            });
        } catch (error) {
            if (--tries < 0) throw error;
            await new Promise((done) => setTimeout(done, 500));
        }
    }
}

const ANSWERED = `for (let k = 0; k < 600; k++) {
    if (document.getElementById("content")?.getAttribute("aria-busy") === "false" && document.querySelector("#card .tile, .empty")) break;
    await new Promise((f) => setTimeout(f, 100));
}`;

export async function firefoxAnswers() {
    const profile = mkdtempSync(join(tmpdir(), "astra-firefox-"));
    const firefox = spawn(
        "firefox-esr",
        [
            "--headless",
            "--no-remote",
            "--profile",
            profile,
            "--marionette",
            "--marionette-port",
            String(PORT),
        ],
        {
            stdio: "ignore",
            env: {
                ...process.env,
                HOME: profile,
                MOZ_REMOTE_SETTINGS_DEVTOOLS: "1",
                MOZ_MARIONETTE_PREF_STATE_ACROSS_RESTARTS: JSON.stringify({
                    "marionette.port": PORT,
                }),
            },
        },
    );
    try {
        const driver = new Marionette(await reach(80));
        await driver.send("WebDriver:NewSession", {
            capabilities: { alwaysMatch: { acceptInsecureCerts: true } },
        });
        await driver.send("WebDriver:Navigate", {
            url: address + "#q=search&model=llama3-8b&cluster=2x8:H100",
        });
        const tiles = await driver.run(
                `${ANSWERED} return [...document.querySelectorAll("#card .tile .value")].map((n) => n.textContent);`,
            ),
            [best] = JSON.parse(
                astra(
                    "search",
                    "--model",
                    "llama3-8b",
                    "--cluster",
                    "2x8:H100",
                    "--format",
                    "json",
                ),
            ).best;
        same(
            "firefox: step",
            tiles[1] || (await driver.run(`return document.getElementById("state").textContent;`)),
            `${best.step_s.toFixed(2)} s`,
        );
        const script = readFileSync("tests/import/03_sbatch.sh", "utf8");
        const lines = await driver.run(
            `document.getElementById("mode-script").click();
            const box = document.getElementById("f-script");
            box.value = arguments[0];
            box.dispatchEvent(new Event("input", { bubbles: true }));
            for (let k = 0; k < 300 && !document.querySelector(".diff"); k++) await new Promise((f) => setTimeout(f, 100));
            return document.querySelectorAll(".diff .come").length;`,
            script,
        );
        check("firefox: diff", lines > 3, lines);
        same(
            "firefox: drawn",
            await driver.run(`return document.querySelectorAll("#timeline svg path").length > 2;`),
            true,
        );
        await driver.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
    } finally {
        firefox.kill();
        await new Promise((done) =>
            firefox.exitCode !== null || firefox.signalCode ? done() : firefox.on("exit", done),
        );
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
}
