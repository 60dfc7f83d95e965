// The engine of the page answers as the program does: the same bytes but for times of the search,
// the same exit code and message. same_answers.mjs ENGINE QUESTIONS; ASTRA is the program.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

const require = createRequire(import.meta.url);
const { startEngine } = require("../../web/ask.js");
const [enginePath, questionsPath] = process.argv.slice(2).map((path) => resolve(path));
const { ASTRA } = process.env;
const MEANT = { json: ["search", "estimate", "explain", "gpus", "models", "prices"] };

// "--a b --c" as the page asks it: options, the files that they name, the text of a file.
function questionOf(words) {
    const [command, ...rest] = words,
        question = { command, options: [], files: [] };
    const switches = ["variants", "stats", "no-cautions", "exhaustive", "check"];
    while (rest.length > 0) {
        const word = rest.shift();
        if (!word.startsWith("--")) {
            question.text = { name: word, text: readFileSync(word, "utf8") };
            continue;
        }
        const name = word.slice(2),
            value = switches.includes(name) ? "on" : rest.shift();
        question.options.push([name, value]);
        if (existsSync(value))
            question.files.push({ name: value, text: readFileSync(value, "utf8") });
    }
    return question;
}

const masked = (text) => text.replace(/("elapsed_s": )[-+.0-9eE]+/, "$1ELAPSED");

function ofProgram(words) {
    const json = MEANT.json.includes(words[0]) ? ["--format", "json"] : [];
    const { status, stdout, stderr } = spawnSync(ASTRA, [...words, ...json], {
        encoding: "utf8",
        maxBuffer: 1 << 28,
    });
    return { status, printed: masked(stdout), message: stderr.replace(/^astra: /, "").trimEnd() };
}

function ofEngine(engine, words) {
    const question = questionOf(words);
    for (const { name } of question.files) engine.module.FS.mkdirTree(dirname(resolve("/", name)));
    const { status, message, json, script } = engine.ask(question);
    const printed = MEANT.json.includes(words[0])
        ? json
        : words[0] === "improve"
          ? engine.print("text")
          : script;
    return { status, printed: masked(printed), message };
}

function firstDifference(a, b) {
    const [left, right] = [a, b].map((text) => text.split("\n")),
        k = left.findIndex((line, i) => line !== right[i]);
    return `line ${k + 1}:\n    program ${left[k]}\n    page    ${right[k]}`;
}

const compiled = await WebAssembly.compile(readFileSync(enginePath.replace(/\.js$/, ".wasm")));
const engine = await startEngine(require(enginePath), compiled);
const questions = readFileSync(questionsPath, "utf8")
    .split("\n")
    .filter((line) => line && !line.startsWith("#"));
let failed = 0;
for (const line of questions) {
    const words = line.split(" "),
        theirs = ofProgram(words),
        ours = ofEngine(engine, words);
    // What a failed command prints is nothing; a refused plan is printed all the same.
    const differs = ["status", "printed", "message"].find(
        (part) => (part !== "message" || theirs.status !== 0) && theirs[part] !== ours[part],
    );
    if (!differs) continue;
    failed++;
    console.log(
        `FAIL ${line}: ${differs}, ${firstDifference(String(theirs[differs]), String(ours[differs]))}`,
    );
}
// What one worker holds: memory grows and is never given back.
const MOST_MB = 200,
    held = engine.module.HEAP8.length / 1e6;
if (held > MOST_MB) {
    failed++;
    console.log(`FAIL memory: ${held} MB, ${MOST_MB} at most`);
}
console.log(
    `${questions.length - failed} of ${questions.length} questions answered alike, ${Math.round(held)} MB of memory`,
);
process.exit(failed || questions.length < 60 ? 1 : 0);
