// A question is what the command line would be given: a command, options in their order, files that
// they name, and the script that is read. The address has all of it.
const WRITES = ["report", "plot", "trace", "hostfile", "export", "hosts"]; // not from an address

const packable = typeof CompressionStream !== "undefined";

async function through(stream, bytes) {
    const piped = new Blob([bytes]).stream().pipeThrough(stream);
    return new Uint8Array(await new Response(piped).arrayBuffer());
}

async function packed(text) {
    const bytes = new TextEncoder().encode(text),
        small = packable ? await through(new CompressionStream("deflate-raw"), bytes) : bytes;
    let binary = "";
    for (const byte of small) binary += String.fromCharCode(byte);
    const digits = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    return (packable ? "z" : "b") + digits;
}

async function unpacked(word) {
    const binary = atob(word.slice(1).replaceAll("-", "+").replaceAll("_", "/")),
        bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0)),
        whole =
            word[0] === "z" ? await through(new DecompressionStream("deflate-raw"), bytes) : bytes;
    return new TextDecoder().decode(whole);
}

// "#q=search&model=llama3-70b&cluster=64x8:H100"; files and scripts are packed.
async function addressOf({ command, options, files, text }) {
    const word = (s) =>
        encodeURIComponent(s).replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%3D", "=");
    const parts = options.map(([name, value]) => `${name}=${word(String(value))}`);
    for (const file of files || [])
        parts.push(`file:${word(file.name)}=${await packed(file.text)}`);
    if (text) parts.push(`text:${word(text.name)}=${await packed(text.text)}`);
    return "#q=" + [command, ...parts].join("&");
}

// null: the address asks nothing that can be read.
async function questionOfAddress(hash) {
    if (!hash.startsWith("#q=")) return null;
    const [command, ...parts] = hash.slice(3).split("&");
    if (command !== "search" && command !== "improve") return null;
    const question = { command, options: [], files: [] };
    try {
        for (const part of parts) {
            const at = part.indexOf("="),
                key = decodeURIComponent(part.slice(0, at)),
                value = part.slice(at + 1);
            if (key.startsWith("file:"))
                question.files.push({ name: plainName(key.slice(5)), text: await unpacked(value) });
            else if (key.startsWith("text:"))
                question.text = { name: plainName(key.slice(5)), text: await unpacked(value) };
            else if (/^[a-z-]+$/.test(key) && !WRITES.includes(key))
                question.options.push([key, decodeURIComponent(value)]);
        }
    } catch {
        return null;
    }
    return question;
}

// A file of the page has no folder, and a name that no option takes for something else.
const plainName = (name) =>
    name
        .replace(/^.*[\\/]/, "")
        .replace(/[^\w.-]+/g, "_")
        .slice(0, 80) || "file";

const optionOf = (question, name) => (question.options.find(([n]) => n === name) || [])[1];

function titleOf(question) {
    if (question.command !== "search") return question.text ? question.text.name : "a script";
    const model = optionOf(question, "model") || "",
        name = model.includes("=") ? "own sizes" : model;
    return `${name} on ${optionOf(question, "cluster") || ""}`;
}

// As one would type it.
function commandLine({ command, options, text }) {
    const quoted = (s) => (/^[\w.,:=@%/+-]+$/.test(s) ? s : `'${s.replaceAll("'", "'\\''")}'`);
    const words = options.map(([name, value]) => `--${name} ${quoted(String(value))}`);
    return ["astra", command, ...(text ? [quoted(text.name)] : []), ...words].join(" ");
}

// "1..16x8:A100,4x8:H100@200": rows of nodes, GPUs a node and type; null where it is something else.
function poolOf(cluster) {
    const rows = (cluster || "").split(",").map((part) => /^([^x]*)x(\d*):(.+)$/.exec(part.trim()));
    return rows.every(Boolean) ? rows.map(([, nodes, each, gpu]) => ({ nodes, each, gpu })) : null;
}

const clusterOf = (rows) => rows.map(({ nodes, each, gpu }) => `${nodes}x${each}:${gpu}`).join(",");
