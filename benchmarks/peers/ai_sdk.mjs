// Both versions of `ai`: generateText and streamText, every step's result kept as they keep it.
import { DONE, messages, REMINDER, TOOL, TOOL_DOES, TOOL_TAKES, serve } from './serving.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const count = () => ({ total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined });
const usage = () => ({ inputTokens: count(), outputTokens: { total: 1, text: undefined, reasoning: undefined } });
const finishes = (part) => ({ unified: part.type === 'tool-call' ? 'tool-calls' : 'stop', raw: undefined });

function makeModel(sdk, script) {
  const answer = ({ prompt }) => {
    const number = script.call(prompt.length);
    if (number === undefined) return { type: 'text', text: DONE };
    return { type: 'tool-call', toolCallId: `call-${number}`, toolName: TOOL, input: `{"q":${number}}` };
  };
  return {
    specificationVersion: sdk.specificationVersion,
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate(options) {
      const part = answer(options);
      return { content: [part], finishReason: finishes(part), usage: usage(), warnings: [] };
    },
    async doStream(options) {
      const part = answer(options);
      const chunks = [{ type: 'stream-start', warnings: [] }, ...streamed(part), { type: 'finish', finishReason: finishes(part), usage: usage() }];
      return { stream: new ReadableStream({ start: (controller) => { for (const chunk of chunks) controller.enqueue(chunk); controller.close(); } }) };
    },
  };
}

function streamed(part) {
  if (part.type === 'tool-call') return [part];
  return [{ type: 'text-start', id: 'text' }, { type: 'text-delta', id: 'text', delta: part.text }, { type: 'text-end', id: 'text' }];
}

function settings(sdk, task, script) {
  const { steps, override } = task;
  return {
    model: makeModel(sdk, script),
    messages: messages(task).map(({ role, text }) => ({ role, content: text })),
    tools: { [TOOL]: sdk.tool({ description: TOOL_DOES, inputSchema: sdk.jsonSchema(TOOL_TAKES), execute: async ({ q }) => script.look(q) }) },
    stopWhen: sdk.stepCountIs(steps + 1),
    ...(override ? { prepareStep: (given) => ({ messages: [...sdk.stepInput(given), { role: 'user', content: REMINDER }] }) } : {}),
  };
}

// `sdk` is what the package exports, the version of its models, and the messages that a step of `prepareStep` begins with.
export function drive(sdk) {
  serve({
    prepare(task, script) {
      const given = settings(sdk, task, script);
      if (task.variant !== 'stream') {
        return async () => {
          const result = await sdk.generateText(given);
          return { text: result.text, kept: result };
        };
      }
      return async () => {
        const result = sdk.streamText(given);
        for await (const _ of result.fullStream);
        return { text: await result.text, kept: [result, await result.steps] };
      };
    },
  });
}
