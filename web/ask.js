// Puts a question to the engine, in a worker of the page or in a test without one.
//
// A question is {command, options: [[name, value], ...], files: [{name, text}], text: {name, text}}:
// options in their order as on a command line, files that they name, and what `estimate` reads.
// An answer is {status, message, json}, with `page`, the data of its report, where it has one.
"use strict";

const COMMANDS = ["search", "estimate", "explain", "improve", "export"];
const LISTS = {
    gpus: "_astra_list_gpus",
    models: "_astra_list_models",
    prices: "_astra_list_prices",
};
const REPORT = "/report.html",
    PLOT = "/plot.svg";
const FORMATS = { text: 0, json: 1, csv: 2 };

// Of a report: from its data's script to that script's end. Data has no "<" of its own.
function dataOf(page) {
    const mark = '<script type="application/json" id="data">',
        from = page.indexOf(mark) + mark.length;
    return page.slice(from, page.indexOf("</script>", from));
}

class Engine {
    constructor(module) {
        this.module = module;
        this.query = 0;
    }

    // Calls a function of C with texts as they are; what it returns is a number or an address.
    call(name, ...values) {
        const m = this.module,
            texts = [];
        const given = values.map((value) => {
            if (typeof value !== "string") return value;
            const size = m.lengthBytesUTF8(value) + 1,
                at = m._malloc(size);
            m.stringToUTF8(value, at, size);
            texts.push(at);
            return at;
        });
        const result = m[name](...given);
        texts.forEach((at) => m._free(at));
        return result;
    }

    textOf(name, ...values) {
        const at = this.call(name, ...values);
        return at ? this.module.UTF8ToString(at) : "";
    }

    begin() {
        if (this.query) this.call("_astra_free", this.query);
        this.query = this.call("_web_new");
    }

    read(path) {
        try {
            return this.module.FS.readFile(path, { encoding: "utf8" });
        } catch {
            return "";
        }
    }

    forget(path) {
        try {
            this.module.FS.unlink(path);
        } catch {
            /* was not there */
        }
    }

    // The first option that is refused ends it; returns its status.
    give(question) {
        for (const { name, text } of question.files || []) this.module.FS.writeFile(name, text);
        for (const [name, value] of question.options) {
            const status = this.call("_astra_set", this.query, name, String(value));
            if (status) return { status, option: name };
        }
        const { text } = question;
        return {
            status: text ? this.call("_astra_load_text", this.query, text.name, text.text) : 0,
        };
    }

    ask(question) {
        const { command } = question;
        if (!COMMANDS.includes(command) && !(command in LISTS))
            throw new Error("no such command: " + command);
        this.begin();
        this.forget(REPORT);
        let { status, option } = this.give(question);
        const refused = status !== 0;
        if (!refused) status = this.call(LISTS[command] || "_astra_" + command, this.query);
        (question.files || []).forEach(({ name }) => this.forget(name));
        return {
            status,
            option,
            message: this.textOf("_astra_message", this.query),
            json: refused ? "" : this.print("json"),
            script: refused ? "" : this.textOf("_astra_script", this.query),
        };
    }

    // Of the latest question.
    print(format) {
        return this.textOf("_astra_print", this.query, FORMATS[format]);
    }

    // The report of the latest search, of an estimate that was asked with "report".
    report(alternatives) {
        return this.textOf("_web_page", this.query, alternatives ? 1 : 0) || this.read(REPORT);
    }
}

// Of `compiled`, a WebAssembly.Module: compiled once, handed to every worker that is started.
async function startEngine(make, compiled, progress) {
    const instantiateWasm = (imports, done) => {
        WebAssembly.instantiate(compiled, imports).then((instance) => done(instance, compiled));
        return {};
    };
    return new Engine(await make({ instantiateWasm, progress }));
}

if (typeof module !== "undefined") module.exports = { startEngine, dataOf, REPORT, PLOT };
