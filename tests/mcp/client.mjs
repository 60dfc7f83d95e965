// The server as an agent's client meets it. One line for each check; exit code 1 where one fails.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {setTimeout as sleep} from 'node:timers/promises';
import Ajv from 'ajv';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {EmptyResultSchema} from '@modelcontextprotocol/sdk/types.js';

const ASTRA = process.env.ASTRA;
const SCRATCH = fs.mkdtempSync(path.join(process.env.MCP_DIR, 'scratch-'));
const SCRIPT = fs.readFileSync(path.join(process.argv[2], 'import/01_arrays.sh'), 'utf8');
const PLAN = {model: 'llama3-8b', cluster: '1x8:H100', set: ['tp=2', 'dist_opt=on']};
const LONG = {model: 'llama3-405b', cluster: '1..128x8:H100,1..128x8:A100,1..64x8:H200', exhaustive: true};

let failed = 0;
async function check(name, test) {
    try {
        const more = await test();
        console.log(`ok   ${name}${more ? `: ${more}` : ''}`);
    } catch (error) {
        failed++;
        console.log(`FAIL ${name}: ${error.stack}`);
    }
}

async function connect(...options) {
    const transport = new StdioClientTransport({command: ASTRA, args: ['mcp', ...options]});
    const client = new Client({name: 'astra-tests', version: '0'});
    await client.connect(transport);
    return {client, pid: transport.pid, call: (name, args, more) =>
        client.callTool({name, arguments: args}, undefined, {timeout: 100000, ...more})};
}
const children = pid => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
const rss_kb = pid => Number(/VmRSS:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
async function eventually(what, claim) {
    for (let i = 0; i < 100; i++, await sleep(50))
        if (claim()) return;
    assert.fail(`not within 5 s: ${what}`);
}
const is_gone = pid => {
    try { return /State:\s*Z/.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8')); } catch { return true; }
};
async function rejects(promise, code) {
    await assert.rejects(promise, error => (assert.equal(error.code, code), true));
}
function refused(result, ...words) {
    assert.equal(result.isError, true, JSON.stringify(result).slice(0, 300));
    for (const word of words) assert.match(result.content[0].text, word);
}

const {client, pid, call} = await connect();
let tools;

await check('initialize', () => {
    assert.equal(client.getServerVersion().name, 'astra');
    assert.deepEqual(client.getServerCapabilities(), {tools: {}});
    assert.match(client.getInstructions(), /Megatron-LM/);
});

await check('ping', () => client.ping().then(() => ''));

await check('tools are listed, and their schemas are schemas', async () => {
    tools = Object.fromEntries((await client.listTools()).tools.map(tool => [tool.name, tool]));
    assert.deepEqual(Object.keys(tools).sort(),
        ['compare', 'estimate', 'explain', 'export', 'gpus', 'improve', 'models', 'prices', 'search']);
    for (const tool of Object.values(tools)) {
        assert.ok(new Ajv({allowUnionTypes: true}).compile(tool.inputSchema));
        assert.equal(tool.annotations.readOnlyHint, true);
        assert.ok(!('file' in tool.inputSchema.properties) && !('report' in tool.inputSchema.properties));
    }
});

const answers = {};
const GOOD = [
    ['search', {model: 'llama3-8b', cluster: '1x8:H100', top: 2, export: 'slurm'}],
    ['search', {model: {model_type: 'llama', num_hidden_layers: 16, hidden_size: 2048, intermediate_size: 8192,
        num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256, max_position_embeddings: 8192},
        cluster: {groups: [{gpu: 'H100', nodes: 1, gpus_per_node: 8}]}, 'seq-len': '4k', tokens: 1e12, stats: true}],
    ['estimate', PLAN],
    ['estimate', {script: SCRIPT, gpu: 'H100', env: ['NNODES=1']}],
    ['estimate', {model: 'llama3-8b', cluster: '1x8:H100', flags: ['--tensor-model-parallel-size', '2',
        '--micro-batch-size', '1', '--global-batch-size', '64', '--bf16', '--use-distributed-optimizer']}],
    ['explain', {...PLAN, stage: 'memory'}],
    ['improve', {script: SCRIPT, gpu: 'H100'}],
    ['compare', {side: ['best', 'tp=8'], model: 'llama3-8b', cluster: '1x8:H100'}],
    ['gpus', {}], ['models', {}], ['prices', {gpu: 'H100', market: 'spot'}],
];
for (const [name, args] of GOOD)
    await check(`${name} ${Object.keys(args)}`, async () => {
        const valid = new Ajv({allowUnionTypes: true}).compile(tools[name].inputSchema);
        assert.ok(valid(args), JSON.stringify(valid.errors));
        const result = await call(name, args);
        assert.ok(!result.isError, result.content[0].text);
        assert.equal(result.content[0].type, 'text');
        assert.equal(typeof result.structuredContent, 'object');
        answers[name] ??= result;
        return `${result.content[0].text.length} characters, ${JSON.stringify(result.structuredContent).length} of JSON`;
    });

await check('plans go from search to estimate and export', async () => {
    const best = answers.search.structuredContent.best[0];
    const {cluster, gpus, engine: {flags}} = best;
    for (const answer of [answers.search.structuredContent, best, {cluster, gpus, engine: {flags}}]) {
        const again = await call('estimate', {answer});
        assert.equal(again.structuredContent.step_s, best.step_s);
        for (const to of ['megatron', 'torchrun', 'slurm', 'k8s', 'pytorchjob', 'skypilot', 'bridge']) {
            const script = await call('export', {answer, to});
            assert.ok(!script.isError, script.content[0].text);
            assert.equal(script.structuredContent.script, script.content[0].text);
        }
    }
    assert.match(answers.search.structuredContent.script, /#SBATCH/);
    assert.match(answers.improve.structuredContent.script, /^#!\/bin\/bash/);
});

await check('what does not fit is an answer', async () => {
    const result = await call('estimate', {model: 'llama3-70b', cluster: '1x8:H100'});
    assert.ok(!result.isError && result.structuredContent.reasons.length > 0);
});

await check('bad arguments are told', async () => {
    refused(await call('search', {model: 'lama3-8b', cluster: '1x8:H100'}), /did you mean llama3-8b/);
    refused(await call('search', {model: 'llama3-8b'}), /cluster/);
    refused(await call('search', {modell: 'llama3-8b'}), /did you mean model/);
    refused(await call('search', {model: 'llama3-8b', cluster: '1x8:H100', top: 0}), /--top is '0'/);
    refused(await call('search', {model: 'llama3-8b', cluster: '1x8:H100', top: {}}), /another type/);
    refused(await call('estimate', {...PLAN, flags: 'x'}), /list of words/);
    refused(await call('estimate', {script: 'echo nothing'}), /script/);
    refused(await call('estimate', {script: 'x', answer: {}}), /one is given/);
    refused(await call('explain', {...PLAN, stage: 'nothing'}), /expected ops, cost/);
    refused(await call('improve', {}), /script is missing/);
    refused(await call('export', {to: 'slurm'}), /plan is missing/);
    refused(await call('export', {answer: {}, to: 'slurm'}), /no plan of Astra/);
    refused(await call('gpus', {top: 3}), /no argument 'top'/);
    refused(await call('models', {x: 1}), /no argument/);
    refused(await call('prices', {gpu: 'H1000'}), /H1000/);
});

await check('wrong requests have their codes', async () => {
    await rejects(call('verify', {}), -32602);
    await rejects(client.request({method: 'tools/call', params: {arguments: {}}}, EmptyResultSchema), -32602);
    await rejects(client.request({method: 'tools/call', params: {name: 'gpus', arguments: []}}, EmptyResultSchema), -32602);
    await rejects(client.request({method: 'resources/list'}, EmptyResultSchema), -32601);
});

await check('progress', async () => {
    const told = [];
    const result = await call('search', {model: 'llama3-405b', cluster: '1..256x8:H100,1..256x8:H200'},
        {onprogress: progress => told.push(progress)});
    assert.ok(!result.isError && told.length > 0, 'none was told');
    told.forEach((p, i) => assert.ok(p.total === 1 && p.progress <= 1 && (i === 0 || p.progress > told[i - 1].progress)));
    return `${told.length} times`;
});

await check('cancelling ends the search', async () => {
    const stop = new AbortController();
    const pending = call('search', LONG, {signal: stop.signal});
    await eventually('a process', () => children(pid).length === 1);
    stop.abort('enough');
    await assert.rejects(pending);
    const start = Date.now();
    await eventually('no process', () => children(pid).length === 0);
    await client.ping();
    return `${Date.now() - start} ms`;
});

await check('64 calls at once', async () => {
    const results = await Promise.all(Array.from({length: 64}, () => call('models', {})));
    assert.ok(results.every(result => !result.isError));
    assert.equal(children(pid).length, 0);
});

await check('1,000 calls in a row, memory stable', async () => {
    for (let i = 0; i < 50; i++) await call('estimate', PLAN);
    const files = () => fs.readdirSync(`/proc/${pid}/fd`).length;
    const before = rss_kb(pid), open = files(), start = Date.now();
    for (let i = 0; i < 1000; i++) {
        const result = await call('estimate', i % 10 ? PLAN : {...PLAN, script: 3});
        assert.equal(Boolean(result.isError), i % 10 === 0);
    }
    const after = rss_kb(pid);
    assert.ok(after - before < 256, `${before} KiB became ${after} KiB`);
    assert.equal(files(), open);
    return `${((Date.now() - start) / 1000).toFixed(1)} s, ${before} KiB before, ${after} KiB after`;
});
await client.close();
await check('the server ends with its client', () => eventually('gone', () => is_gone(pid)));

await check('files: below --allow alone', async () => {
    const folder = path.join(SCRATCH, 'in'), other = path.join(SCRATCH, 'other');
    fs.mkdirSync(folder), fs.mkdirSync(other);
    fs.writeFileSync(path.join(folder, 'job.sh'), SCRIPT);
    fs.writeFileSync(path.join(other, 'job.sh'), SCRIPT);
    fs.symlinkSync('../other/job.sh', path.join(folder, 'link.sh'));
    fs.symlinkSync('../other', path.join(folder, 'folder'));
    const before = fs.readdirSync(SCRATCH, {recursive: true});
    const server = await connect('--allow', folder);
    const {properties} = (await server.client.listTools()).tools.find(tool => tool.name === 'estimate').inputSchema;
    assert.ok('file' in properties && 'rules' in properties && !('trace' in properties));
    for (const file of ['job.sh', path.join(folder, 'job.sh'), './job.sh'])
        assert.ok(!(await server.call('estimate', {file, gpu: 'H100'})).isError);
    for (const file of ['../other/job.sh', 'link.sh', 'folder/job.sh', path.join(other, 'job.sh'), '/etc/passwd',
        '/proc/self/environ', '/dev/stdin', '-', '', '.', `${folder}/../other/job.sh`])
        refused(await server.call('estimate', {file, gpu: 'H100'}));
    for (const name of ['rules', 'prices', 'efficiency', 'profile'])
        refused(await server.call('estimate', {...PLAN, [name]: '/etc/passwd'}), /passwd/);
    for (const name of ['trace', 'report'])
        refused(await server.call('estimate', {...PLAN, [name]: 'new'}), /writes none/);
    refused(await server.call('search', {model: 'llama3-8b', cluster: '1x8:H100', plot: 'x.svg'}), /writes none/);
    refused(await server.call('export', {answer: answers.search.structuredContent, to: 'slurm', hosts: '/etc/passwd'}), /passwd/);
    const better = await server.call('improve', {file: 'job.sh', gpu: 'H100'});
    assert.ok(!better.isError && better.structuredContent.script !== SCRIPT);
    await server.client.close();
    assert.deepEqual(fs.readdirSync(SCRATCH, {recursive: true}), before);
});

await check('a call ends in time', async () => {
    const server = await connect('--call-limit', '1s');
    const start = Date.now();
    refused(await server.call('search', {...LONG, 'time-limit': '1h'}), /not answered within 1 s/);
    const took = Date.now() - start;
    assert.ok(took < 5000);
    assert.ok(!(await server.call('models', {})).isError);
    await server.client.close();
    return `${took} ms`;
});

// Lines without the client, for what it does not send.
function raw(...options) {
    const server = spawn(ASTRA, ['mcp', ...options], {stdio: ['pipe', 'pipe', 'inherit']});
    const lines = createInterface({input: server.stdout})[Symbol.asyncIterator]();
    return {server, send: message => server.stdin.write(`${JSON.stringify(message)}\n`),
        next: async () => JSON.parse((await lines.next()).value)};
}
const hello = protocolVersion => ({jsonrpc: '2.0', id: 0, method: 'initialize', params: {protocolVersion, capabilities: {},
    clientInfo: {name: 'raw', version: '0'}}});
const asks = (id, name, args) => ({jsonrpc: '2.0', id, method: 'tools/call', params: {name, arguments: args}});

await check('older revisions', async () => {
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18']) {
        const {server, send, next} = raw();
        send(hello(version));
        assert.equal((await next()).result.protocolVersion, version);
        const batch = [asks(1, 'models', {}), {jsonrpc: '2.0', id: 2, method: 'ping'}];
        send(batch);
        const answer = await next();
        if (version === '2025-03-26')
            assert.deepEqual(answer.map(a => a.id).sort(), [1, 2]);
        else
            assert.equal(answer.error.code, -32600);
        send(asks(3, 'estimate', PLAN));
        const {result} = await next();
        const json = version === '2025-06-18' ? result.structuredContent : JSON.parse(result.content[1].text);
        assert.ok(json.step_s > 0);
        server.stdin.end();
        await new Promise(done => server.on('exit', done));
    }
});

await check('a client that goes away leaves nothing behind', async () => {
    for (const go of [server => (server.stdin.destroy(), server.stdout.destroy()), server => server.kill('SIGTERM'),
        server => server.kill('SIGKILL')]) {
        const {server, send, next} = raw();
        send(hello('2025-06-18'));
        await next();
        send(asks(1, 'search', LONG));
        await eventually('a process', () => children(server.pid).length === 1);
        const [job] = children(server.pid);
        go(server);
        await eventually('gone', () => is_gone(server.pid) && is_gone(job));
    }
});

fs.rmSync(SCRATCH, {recursive: true});
console.log(failed ? `${failed} failed` : 'all passed');
process.exit(failed ? 1 : 0);
