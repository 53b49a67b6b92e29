// What `isolate` costs: runs of generateText with a hook, and with the same hook isolated, by turns. Prints the ratio of their medians.
//
//   node benchmarks/isolate.js FOLDER   FOLDER is a project in which `ai` is installed
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isolate } from '../agentcore/live/js/index.js';

const [folder = '.'] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), 'package.json'));
const { generateText, jsonSchema, stepCountIs } = await import(pathToFileURL(require.resolve('ai')));
const { version } = require('ai/package.json');
const [major] = version.split('.').map(Number);
const STEPS = 20;
const ROUNDS = 15;

function model() {
  let step = 0;
  return {
    specificationVersion: { 5: 'v2', 6: 'v3', 7: 'v4' }[major],
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    doGenerate: async () => {
      step++;
      const call = { type: 'tool-call', toolCallId: `c${step}`, toolName: 'find', input: '{"query":"x"}' };
      const reason = step < STEPS ? 'tool-calls' : 'stop';
      return {
        content: [step < STEPS ? call : { type: 'text', text: 'done' }],
        finishReason: major === 5 ? reason : { unified: reason, raw: reason },
        usage:
          major === 5
            ? { inputTokens: 1, outputTokens: 1 }
            : { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
        warnings: [],
      };
    },
  };
}

const history = (length) =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 ? 'assistant' : 'user',
    content: [{ type: 'text', text: `message ${index} of a history` }],
  })).concat({ role: 'user', content: 'go on' });

// A common one: new messages with shorter outputs, and the rest as it is.
const shorten = ({ messages }) => ({
  messages: messages.map((message) =>
    message.role === 'tool' ? { ...message, content: message.content.map((part) => ({ ...part })) } : message,
  ),
});

async function milliseconds(prepareStep, messages) {
  const find = { inputSchema: jsonSchema({ type: 'object' }), execute: async () => ({ rows: ['a', 'b'] }) };
  const before = process.cpuUsage();
  await generateText({
    model: model(),
    messages,
    tools: { find },
    stopWhen: stepCountIs(STEPS),
    prepareStep,
  });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

console.log(
  `ai ${version}, node ${process.version}: a run of ${STEPS} steps, milliseconds of the processor, median of ${ROUNDS}`,
);
for (const length of [10, 100, 1000]) {
  const messages = history(length);
  const values = { plain: [], isolated: [] };
  for (let round = -3; round < ROUNDS; round++) {
    const plain = await milliseconds(shorten, messages);
    const isolated = await milliseconds(isolate(shorten, { at: 'prepareStep' }), messages);
    if (round >= 0) (values.plain.push(plain), values.isolated.push(isolated));
  }
  const [plain, isolated] = [median(values.plain), median(values.isolated)];
  console.log(
    `history of ${length}: ${plain.toFixed(1)} plain, ${isolated.toFixed(1)} isolated, ratio ${(isolated / plain).toFixed(2)}`,
  );
}
