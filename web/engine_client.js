// The page's side of its workers. One thread computes an answer; a change of the question ends it and
// starts another, for which the compiled engine is at hand.
let COMPILED = null; // a promise

function compiledEngine() {
    if (!COMPILED)
        COMPILED = fetch("engine.wasm").then(async (response) => {
            if (!response.ok) throw new Error(`engine.wasm: ${response.status}`);
            const typed = response.headers.get("Content-Type") === "application/wasm";
            return typed
                ? WebAssembly.compileStreaming(response)
                : WebAssembly.compile(await response.arrayBuffer());
        });
    return COMPILED;
}

// A worker with its engine on the way. One is kept in reserve, so that a search that is ended costs
// the next one no start.
let RESERVE = null;

function makeWorker() {
    const worker = new Worker("worker.js");
    worker.sent = compiledEngine().then((compiled) => worker.postMessage({ compiled }));
    worker.sent.catch(() => {}); // who takes it looks
    return worker;
}

function takeWorker() {
    const worker = RESERVE || makeWorker();
    RESERVE = null;
    return worker;
}

function keepReserve() {
    if (!RESERVE) RESERVE = makeWorker();
}

class Desk {
    constructor() {
        this.worker = null;
        this.waiting = new Map();
        this.count = 0;
    }

    // When its engine is on the way to the worker: messages come behind it.
    open() {
        if (!this.worker) this.opened = this.start();
        return this.opened;
    }

    async start() {
        const worker = takeWorker();
        this.worker = worker;
        worker.onmessage = ({ data }) => this.take(data);
        worker.onerror = (event) => this.fail(event.message || "the engine did not start");
        try {
            await worker.sent;
        } catch (error) {
            this.fail(String(error.message || error));
        }
    }

    take(data) {
        const entry = this.waiting.get(data.id);
        if (!entry) return;
        if (data.done !== undefined) {
            if (entry.progress) entry.progress(data.done);
            return;
        }
        this.waiting.delete(data.id);
        if (data.broken) entry.reject(new Error(data.broken));
        else entry.resolve(data);
    }

    fail(message) {
        for (const entry of this.waiting.values()) entry.reject(new Error(message));
        this.end();
    }

    // Messages wait in their order until the engine is there.
    send(message, progress) {
        const id = ++this.count;
        const answer = new Promise((resolve, reject) =>
            this.waiting.set(id, { resolve, reject, progress }),
        );
        const opened = this.open(),
            { worker } = this;
        opened.then(() => worker === this.worker && worker.postMessage({ ...message, id }));
        return answer;
    }

    get busy() {
        return this.waiting.size > 0;
    }

    // Whoever still waits is not answered any more.
    end() {
        if (this.worker) this.worker.terminate();
        this.worker = null;
        this.waiting.clear();
    }
}

const MAIN = new Desk(), // the question
    SIDE = new Desk(); // previews of it, what-ifs, exports
