// Mastra 1: processors and prepareStep of an Agent.
import { dialect, drained, field } from '../src/dialect.js';

const terms = {
  call: { type: 'tool-call', id: 'toolCallId', tool: 'toolName', input: 'input' },
  result: { type: 'tool-result', id: 'toolCallId', tool: 'toolName', output: 'output', role: 'tool' },
  output: ({ output, error, denied }) =>
    typeof output === 'string'
      ? { type: 'text', value: output }
      : { type: output === undefined ? 'error-text' : 'json', value: output ?? error ?? denied ?? null },
  outcome: ({ type, value }) => ({ [type === 'error-text' ? 'error' : 'output']: value ?? null }),
  file: ({ data, mediaType }) => ({ type: 'image', image: data, mediaType }),
};
const messages = dialect(terms);

// What a processor is given beside the messages is the framework's, or the person's own.
const stay = ([given]) =>
  Object.entries(given)
    .filter(([name]) => !DATA.has(name))
    .map(([, value]) => value);
const DATA = new Set(['messages', 'systemMessages', 'steps', 'result']);
// The list stays itself: it is an object with methods for editing. What it holds is conversation.
const handles = ([{ messageList }]) => [[...messageList.get.all.db()]];
const reaches = ([{ messageList }]) => [['messageList', messageList.get.all.db()]];
const processor = {
  when: 'before',
  first: ['messages', 'systemMessages'],
  stay,
  handles,
  reaches,
  messages: ([given]) => given.messages,
  output: (returned) => (Array.isArray(returned) ? returned : returned?.messages),
  passive: ([given]) => given.messages,
  mend: 'return new messages with new parts, or edit by the methods of messageList',
};

export const name = 'mastra';
export const packages = ['@mastra/core', '@mastra/core/agent', '@mastra/core/tools'];
export const supports = (version) => version.startsWith('1.');
export const versions = ['1.71.0'];
export const paths = ['generate', 'stream'];
export const { pairs, neutral } = messages;
export const boundaries = {
  processInput: processor,
  processInputStep: { ...processor, passive: () => undefined },
  prepareStep: { ...processor, passive: () => undefined },
  processOutputResult: { ...processor, when: 'after' },
};

/** Runs the conversation of `session` with `hook` at its boundary. */
export async function run(session, hook, sdk) {
  const { at, path, talk, beside } = session;
  const { prepareStep, ...processors } = { ...beside, [at]: hook };
  const judged = { id: 'checked', ...processors };
  const has = (names) => (names.some((name) => name in processors) ? [judged] : []);
  const execute = async (_, { agent }) => session.outcome(agent.toolCallId);
  const tool = (id) => sdk.createTool({ id, description: id, execute });
  const agent = new sdk.Agent({
    id: 'checked',
    name: 'checked',
    instructions: talk.instructions ?? '',
    model: model(session),
    tools: Object.fromEntries(session.toolNames().map((id) => [id, tool(id)])),
    inputProcessors: has(['processInput', 'processInputStep']),
    outputProcessors: has(['processOutputResult']),
  });
  return session.converse(messages, async (given) => {
    const output = await agent[path](given, { maxSteps: 20, ...field('prepareStep', prepareStep) });
    if (path === 'stream') await drained(output.fullStream);
    const [text, steps, response] = await Promise.all([output.text, output.steps, output.response]);
    return {
      steps,
      result: { text, messages: response.dbMessages ?? response.messages },
      said: response.messages,
    };
  });
}

const USAGE = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

// A scripted model of version 2 of the AI SDK's interface.
function model(session) {
  const respond = async ({ prompt }) => {
    const content = messages
      .said((await session.answer(prompt)).parts)
      .map((part) => (part.input ? { ...part, input: JSON.stringify(part.input) } : part));
    const finishReason = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
    return { content, finishReason, usage: USAGE, warnings: [] };
  };
  return {
    specificationVersion: 'v2',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: respond,
    doStream: async (options) => ({ stream: ReadableStream.from(chunks(await respond(options))) }),
  };
}

const chunks = ({ content, ...end }) => [
  { type: 'stream-start', warnings: [] },
  ...content.flatMap((part, index) => {
    const at = (stage, more) => ({ type: `${part.type}-${stage}`, id: String(index), ...more });
    return part.type === 'tool-call' ? [part] : [at('start'), at('delta', { delta: part.text }), at('end')];
  }),
  { type: 'finish', ...end },
];
