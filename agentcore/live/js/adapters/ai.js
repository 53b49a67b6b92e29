// The AI SDK, 5 to 7: generateText, streamText and ToolLoopAgent.
import { dialect, drained, field } from '../src/dialect.js';
import { inputFor } from '../src/inputs.js';
import { atChunks, atTool, boundaries } from './ai-boundaries.js';

const major = (version) => Number.parseInt(version, 10);
const OUTPUTS = { string: 'text', undefined: 'error-text' };
const OUTCOMES = { 'error-text': 'error', 'error-json': 'error', 'execution-denied': 'denied' };

const bytesOf = (data) => Uint8Array.from(Buffer.from(data, 'base64'));
const asText = ({ data, mediaType }) => ({ type: 'image', image: data, mediaType });
const FILES = [
  ({ data, mediaType }) => ({ type: 'image', image: bytesOf(data), mediaType }),
  asText,
  ({ data, mediaType }) => ({ type: 'file', data: bytesOf(data), filename: 'pixel.png', mediaType }),
];

const terms = {
  call: { type: 'tool-call', id: 'toolCallId', tool: 'toolName', input: 'input' },
  result: { type: 'tool-result', id: 'toolCallId', tool: 'toolName', output: 'output', role: 'tool' },
  output: ({ output, error, denied }) => ({
    type: OUTPUTS[typeof output] ?? 'json',
    value: output ?? error ?? denied ?? null,
  }),
  outcome: ({ type, value, reason }) => ({ [OUTCOMES[type] ?? 'output']: value ?? reason ?? null }),
  approval: { request: 'tool-approval-request', response: 'tool-approval-response', id: 'approvalId' },
  file: (part, number) => FILES[number % FILES.length](part),
  options: 'providerOptions',
};
const messages = dialect(terms);
const withoutBytes = dialect({ ...terms, file: asText });

export const name = 'ai';
export const packages = ['ai'];
export const supports = (version) => major(version) >= 5 && major(version) <= 7;
export const versions = ['5.0.277', '6.0.134', '7.0.173'];
export const paths = ['generate', 'stream'];
export const { pairs, neutral } = messages;
export { boundaries };

/** Runs the conversation of `session` with `hook` at its boundary. */
export async function run(session, hook, sdk, version) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const { inputSchema } = ownTool(session);
  if (inputSchema) {
    const { jsonSchema, validate } = sdk.asSchema(inputSchema);
    const schema = await jsonSchema;
    const isValid = validate && (async (input) => (await validate(input)).success);
    await session.useInputs((call) => inputFor(call, schema, isValid));
  }
  return session.converse(session.plain ? withoutBytes : messages, (given) =>
    turn(session, hook, sdk, version, given),
  );
}

async function turn(session, hook, sdk, version, given) {
  const { at, path, talk, variant } = session;
  const old = major(version) < 7;
  // The hook where it belongs, and the others of the same object beside it.
  const hooks = Object.entries({ ...session.beside, [at]: hook });
  const placed = Object.fromEntries(hooks.filter(([name]) => !apart.has(name) && !atTool.has(name)));
  const needsApproval = (_, { toolCallId }) => session.call(toolCallId)?.approval === true;
  const execute = async (_, { toolCallId }) => session.outcome(toolCallId);
  const ofTool = Object.fromEntries(hooks.filter(([name]) => atTool.has(name)));
  const { inputSchema = sdk.jsonSchema({ type: 'object' }) } = ownTool(session);
  const tool = { inputSchema, needsApproval, execute, ...ofTool };
  const tools = Object.fromEntries(session.toolNames().map((each) => [each, tool]));
  const contexts = Object.fromEntries(session.toolNames().map((each) => [each, {}]));
  const bare = model(session, major(version));
  const wrapper = at === 'middleware' ? hook : session.beside.middleware;
  const Agent =
    variant % 8 > 5 || at === 'prepareCall' ? (sdk.ToolLoopAgent ?? sdk.Experimental_Agent) : undefined;
  const settings = {
    model: wrapper ? sdk.wrapLanguageModel({ model: bare, middleware: wrapper }) : bare,
    tools,
    maxRetries: 0,
    ...(old ? { experimental_context: {} } : { runtimeContext: {}, toolsContext: contexts }),
    ...placed,
    stopWhen: [...[placed.stopWhen ?? []].flat(), sdk.stepCountIs(20)],
    ...field(old && !(Agent && major(version) === 6) ? 'system' : 'instructions', talk.instructions),
  };
  const agent = Agent && new Agent(settings);
  const all = { ...settings, messages: given, onError: () => {} };
  const result = await (agent ? agent[path]({ messages: given }) : sdk[`${path}Text`](all));
  const chunks = path === 'stream' ? await drained(result.fullStream) : undefined;
  const [steps, text, finishReason, response, responseMessages] = await Promise.all(
    ['steps', 'text', 'finishReason', 'response', 'responseMessages'].map((key) => result[key]),
  );
  // The messages that a caller appends: in 7 those of all steps, which before were those of the last step's response.
  const said = responseMessages ?? response.messages;
  const observers = hooks.some(([name]) => atChunks.has(name)) ? chunks : undefined;
  return { steps, result: { text, finishReason, messages: said }, said, ...field('observers', observers) };
}

const USAGE = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };

const apart = new Set(['middleware']);

// A tool whose hook is judged comes with its own schema.
const ownTool = ({ at, owner }) => (atTool.has(at) && typeof owner === 'object' ? owner : {});

// What the model writes: JSON, but broken where a hook is there to repair it.
const written = (input, { at }) =>
  JSON.stringify(input).slice(0, at.endsWith('epairToolCall') ? -1 : undefined);

// A scripted model as the version expects it.
function model(session, version) {
  const respond = async ({ prompt }) => {
    const content = messages
      .said((await session.answer(prompt)).parts)
      .map((part) => (part.input ? { ...part, input: written(part.input, session) } : part));
    const reason = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
    if (version > 5) return { content, finishReason: { unified: reason, raw: reason }, usage: USAGE };
    return { content, finishReason: reason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
  };
  return {
    specificationVersion: { 5: 'v2', 6: 'v3', 7: 'v4' }[version],
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: async (options) => ({ ...(await respond(options)), warnings: [] }),
    doStream: async (options) => ({ stream: streamOf(chunks(await respond(options))) }),
  };
}

const streamOf = (items) =>
  new ReadableStream({
    start(controller) {
      for (const item of items) controller.enqueue(item);
      controller.close();
    },
  });

const chunks = ({ content, ...end }) => [
  { type: 'stream-start', warnings: [] },
  ...content.flatMap((part, index) => {
    const at = (stage, more) => ({ type: `${part.type}-${stage}`, id: String(index), ...more });
    return part.type === 'tool-call' ? [part] : [at('start'), at('delta', { delta: part.text }), at('end')];
  }),
  { type: 'finish', ...end },
];
