// The orders in which hooks and tools hear of scripted answers: node chunk_orders.mjs ENTRY_OF_THE_PACKAGE < answers > orders
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { jsonSchema, stepCountIs, streamText } = await import(pathToFileURL(process.argv[2]).href);
const isSeven = process.argv[2].endsWith('.js');
globalThis.AI_SDK_LOG_WARNINGS = false;

function streamed(part, index) {
  const id = `t${index}`;
  if (part.type === 'tool-call') return [{ ...part, input: JSON.stringify(part.input ?? {}) }];
  if (part.type !== 'text' && part.type !== 'reasoning') return [part];
  const deltas = (part.deltas ?? [part.text]).map((delta) => ({ type: `${part.type}-delta`, id, delta }));
  return [{ type: `${part.type}-start`, id }, ...deltas, { type: `${part.type}-end`, id }];
}

function modelOf(script, order) {
  const left = [...script];
  return {
    specificationVersion: isSeven ? 'v4' : 'v3',
    provider: 'scripted',
    modelId: 'model',
    supportedUrls: {},
    async doStream() {
      order.push('model');
      const parts = left.shift() ?? [];
      const unified = parts.some((part) => part.type === 'tool-call') ? 'tool-calls' : 'stop';
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const chunks = [
        { type: 'stream-start', warnings: [] },
        ...parts.flatMap(streamed),
        { type: 'finish', finishReason: { unified }, usage },
      ];
      return {
        stream: new ReadableStream({
          start: (controller) => {
            chunks.forEach((chunk) => controller.enqueue(chunk));
            controller.close();
          },
        }),
      };
    },
  };
}

function toolOf(name, { kind, approval, available }, order) {
  const tell = (what) => order.push(`${what} ${name}`);
  const fail = () => {
    throw new Error('x');
  };
  const executes = {
    sync: () => {
      tell('execute');
      return 1;
    },
    async: async () => {
      tell('execute');
      return 1;
    },
    throws: () => {
      tell('execute');
      fail();
    },
    rejects: async () => {
      tell('execute');
      fail();
    },
    slow: async () => {
      tell('execute');
      await new Promise((resolve) => setTimeout(resolve, 5));
      return 1;
    },
  };
  const approvals = {
    fn: () => {
      tell('needsApproval');
      return false;
    },
    asyncfn: async () => {
      tell('needsApproval');
      return true;
    },
  };
  return {
    inputSchema: jsonSchema({ type: 'object' }),
    execute: executes[kind],
    ...(approval === undefined ? {} : { needsApproval: approvals[approval] ?? approval }),
    ...(available
      ? {
          onInputAvailable: () => {
            tell('inputAvailable');
          },
        }
      : {}),
  };
}

async function orderOf({ script, tools }) {
  const order = [];
  const tell = (what) => () => {
    order.push(what);
  };
  const ofTool =
    (what) =>
    ({ toolCall }) => {
      order.push(`${what} ${toolCall.toolName}`);
    };
  const named = (six, seven, hook) => ({ [isSeven ? seven : six]: hook });
  const entries = Object.entries(tools).map(([name, tool]) => [name, toolOf(name, tool, order)]);
  const result = streamText({
    model: modelOf(script, order),
    ...(entries.length > 0 ? { tools: Object.fromEntries(entries) } : {}),
    prompt: 'u',
    stopWhen: stepCountIs(4),
    onChunk: ({ chunk }) => {
      order.push(`chunk ${chunk.type}`);
    },
    prepareStep: () => {
      order.push('prepareStep');
      return {};
    },
    onStepFinish: tell('stepFinish'),
    onFinish: tell('finish'),
    onError: () => {},
    ...named('experimental_onStepStart', 'onStepStart', tell('stepStart')),
    ...named('experimental_onToolCallStart', 'onToolExecutionStart', ofTool('toolStart')),
    ...named('experimental_onToolCallFinish', 'onToolExecutionEnd', ofTool('toolFinish')),
  });
  await result.consumeStream();
  await new Promise((resolve) => setTimeout(resolve, 15));
  return order;
}

const orders = [];
for (const answers of JSON.parse(readFileSync(0, 'utf8'))) orders.push(await orderOf(answers));
console.log(JSON.stringify(orders));
