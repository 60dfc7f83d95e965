// known.mjs ENGINE: prints what the form offers, of the engine itself, as a script.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(import.meta.url),
    path = resolve(process.argv[2]);
const { startEngine } = require("./ask.js");
const compiled = await WebAssembly.compile(readFileSync(path.replace(/\.js$/, ".wasm")));
const engine = await startEngine(require(path), compiled);
const list = (command) => JSON.parse(engine.ask({ command, options: [] }).json)[command];
const gpus = list("gpus").map((g) => ({
    name: g.name,
    short: g.aliases[0] && g.aliases[0].length < g.name.length ? g.aliases[0] : g.name,
    arch: g.arch,
    price: g.usd_per_hour,
}));
const models = list("models").map(({ name, params_total, params_active, layers, hidden }) => ({
    name,
    params_total,
    params_active,
    layers,
    hidden,
}));
console.log(`const KNOWN = ${JSON.stringify({ gpus, models })};`);
