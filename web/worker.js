// The engine in a thread of its own. A message {id, act, ...} is answered by {id, ...}; while a search
// runs, {id, done} tells how far it is. It cannot be interrupted: who asks something else ends it.
"use strict";
importScripts("engine.js", "ask.js");

let engine, ready, asking;

const ACTS = {
    // The answer, and its report's data where it has any.
    ask: ({ question }) => {
        const start = performance.now(),
            answer = engine.ask(question),
            text = question.command === "improve" && answer.status < 2 ? engine.print("text") : "",
            wanted = question.report && answer.status < 2 ? engine.report(false) : "";
        return { answer, text, data: wanted && dataOf(wanted), took: performance.now() - start };
    },
    // The whole report of the latest search, with the alternatives that take longer.
    report: () => {
        const html = engine.report(true);
        return { html, data: html && dataOf(html) };
    },
    print: ({ format }) => ({ text: engine.print(format) }),
    file: ({ question, path }) => ({ answer: engine.ask(question), text: engine.read(path) }),
};

async function start(compiled) {
    engine = await startEngine(astraEngine, compiled, (done) => postMessage({ id: asking, done }));
}

onmessage = async ({ data }) => {
    if (data.compiled) {
        ready = start(data.compiled);
        return;
    }
    try {
        await ready;
        asking = data.id;
        postMessage({ id: data.id, ...ACTS[data.act](data) });
    } catch (error) {
        postMessage({ id: data.id, broken: String(error.message || error) });
    }
};
