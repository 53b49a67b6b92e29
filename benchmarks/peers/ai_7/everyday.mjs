// ai@7, as the everyday cases measure it: see ../everyday.py. Its messages are plain objects, so that loading them is JSON.parse alone.
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

globalThis.AI_SDK_LOG_WARNINGS = false;
const IMAGE = 1_000_000;
const FOUND = 100_000;
const STEPS = 3;
const count = () => ({ total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined });
const usage = { inputTokens: count(), outputTokens: { total: 1, text: undefined, reasoning: undefined } };

function model(steps, chunks = 0) {
  let calls = 0;
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate() {
      calls += 1;
      const last = calls >= steps;
      const call = { type: 'tool-call', toolCallId: `call-${calls}`, toolName: 'look', input: `{"q":${calls}}` };
      const finishReason = { unified: last ? 'stop' : 'tool-calls', raw: undefined };
      return { content: [last ? { type: 'text', text: 'done' } : call], finishReason, usage, warnings: [] };
    },
    async doStream() {
      const deltas = Array.from({ length: chunks }, () => ({ type: 'text-delta', id: 't', delta: 'word ' }));
      const finishReason = { unified: 'stop', raw: undefined };
      const parts = [
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: 't' },
        ...deltas,
        { type: 'text-end', id: 't' },
        { type: 'finish', finishReason, usage },
      ];
      return { stream: new ReadableStream({ start: (to) => (parts.forEach((part) => to.enqueue(part)), to.close()) }) };
    },
  };
}

function run(steps, found, image) {
  const execute = async ({ q }) => `found ${q} `.padEnd(found, 'x');
  const inputSchema = jsonSchema({ type: 'object', properties: { q: { type: 'number' } }, required: ['q'] });
  const picture = { type: 'file', data: new Uint8Array(image).fill(105), mediaType: 'image/png' };
  const content = [{ type: 'text', text: 'go' }, ...(image ? [picture] : [])];
  const tools = { look: tool({ description: 'Look something up.', inputSchema, execute }) };
  const settings = { model: model(steps), tools, messages: [{ role: 'user', content }], stopWhen: stepCountIs(steps + 1) };
  return async () => {
    const { responseMessages } = await generateText(settings);
    return { count: 1 + responseMessages.length, size: 0, messages: responseMessages };
  };
}

const cases = {
  large: (size) => run(size, FOUND, IMAGE),
  'at once': (size) => {
    const begun = Array.from({ length: size }, () => run(STEPS, 10, 0));
    return async () => {
      const done = await Promise.all(begun.map((each) => each()));
      return { count: done.reduce((sum, each) => sum + each.count, 0), size: 0 };
    };
  },
  chunks: (size) => async () => {
    let seen = 0;
    const { fullStream } = streamText({ model: model(1, size), prompt: 'go' });
    for await (const part of fullStream) seen += part.type === 'text-delta' ? 1 : 0;
    return { count: seen, size: 0 };
  },
  save: async (size) => {
    const { messages } = await run(size, 10, 0)();
    return async () => ({ count: messages.length + 1, size: JSON.stringify(messages).length });
  },
};

const [name, size] = process.argv.slice(2);
const make = cases[name];
let answer;
if (make) {
  for (let turn = 0; turn < 3; turn += 1) await (await make(3))();
  const work = await make(Number(size));
  global.gc();
  const begun = performance.now();
  const { messages, ...result } = await work();
  answer = { seconds: (performance.now() - begun) / 1000, ...result };
} else answer = { unsupported: name === 'load' ? 'its messages are plain JSON' : 'it keeps no steps by itself' };
process.stdout.write(`${JSON.stringify(answer)}\n`);
