// The AI SDK, 5 to 7: generateText, streamText and ToolLoopAgent.
import { dialect, drained, field } from '../src/dialect.js';

const major = (version) => Number.parseInt(version, 10);
const OUTPUTS = { string: 'text', undefined: 'error-text' };
const OUTCOMES = { 'error-text': 'error', 'error-json': 'error', 'execution-denied': 'denied' };

const messages = dialect({
  call: { type: 'tool-call', id: 'toolCallId', tool: 'toolName', input: 'input' },
  result: { type: 'tool-result', id: 'toolCallId', tool: 'toolName', output: 'output', role: 'tool' },
  output: ({ output, error, denied }) => ({
    type: OUTPUTS[typeof output] ?? 'json',
    value: output ?? error ?? denied ?? null,
  }),
  outcome: ({ type, value, reason }) => ({ [OUTCOMES[type] ?? 'output']: value ?? reason ?? null }),
  approval: { request: 'tool-approval-request', response: 'tool-approval-response', id: 'approvalId' },
  file: ({ data, mediaType }) => ({ type: 'image', image: data, mediaType }),
  options: 'providerOptions',
});

export const name = 'ai';
export const packages = ['ai'];
export const supports = (version) => major(version) >= 5 && major(version) <= 7;
export const versions = ['5.0.277', '6.0.134', '7.0.173'];
export const paths = ['generate', 'stream'];
export const { pairs, neutral } = messages;

const context = ['experimental_context', 'runtimeContext', 'toolsContext', 'context', 'abortSignal'];
const wrapping = { when: 'before', first: ['params'], next: ['doGenerate', 'doStream'] };

export const boundaries = {
  prepareStep: {
    when: 'before',
    first: ['messages', 'initialMessages', 'responseMessages', 'steps'],
    stay: context,
    messages: ([options]) => options.messages,
    output: (returned) => returned?.messages,
    again: ([options], again) => [{ ...options, messages: again }],
    mend: 'return { messages: [...] } with new messages and new parts, and leave those of the arguments as they are',
  },
  onStepFinish: {
    when: 'after',
    first: ['content', 'response'],
    stay: context,
    mend: 'copy what the callback needs: structuredClone(step.content)',
  },
  stopWhen: {
    when: 'after',
    first: ['steps'],
    passive: () => false,
    mend: 'only read the steps, and return true or false',
  },
  execute: {
    when: 'after',
    params: ['input', 'options'],
    stay: context,
    passive: ([, options], session) => session.outcome(options.toolCallId),
    mend: 'copy the messages before you change them: structuredClone(options.messages)',
  },
  middleware: {
    when: 'before',
    mend: 'return new params with a new prompt: { ...params, prompt: params.prompt.map(...) }',
    methods: {
      transformParams: {
        when: 'before',
        first: ['params'],
        messages: ([{ params }]) => params.prompt,
        output: (returned) => returned?.prompt,
        passive: ([{ params }]) => params,
      },
      wrapGenerate: { ...wrapping, passive: ([{ doGenerate }]) => doGenerate() },
      wrapStream: { ...wrapping, passive: ([{ doStream }]) => doStream() },
    },
  },
};

/** Runs the conversation of `session` with `hook` at its boundary. */
export function run(session, hook, sdk, version) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return session.converse(messages, (given) => turn(session, hook, sdk, version, given));
}

async function turn(session, hook, sdk, version, given) {
  const { at, path, talk, variant } = session;
  const old = major(version) < 7;
  const execute = at === 'execute' ? hook : async (_, { toolCallId }) => session.outcome(toolCallId);
  const needsApproval = (_, { toolCallId }) => session.call(toolCallId)?.approval === true;
  const tool = { inputSchema: sdk.jsonSchema({ type: 'object' }), needsApproval, execute };
  const tools = Object.fromEntries(session.toolNames().map((each) => [each, tool]));
  const contexts = Object.fromEntries(session.toolNames().map((each) => [each, {}]));
  const bare = model(session, major(version));
  const Agent = variant % 4 === 3 ? (sdk.ToolLoopAgent ?? sdk.Experimental_Agent) : undefined;
  const settings = {
    model: at === 'middleware' ? sdk.wrapLanguageModel({ model: bare, middleware: hook }) : bare,
    tools,
    maxRetries: 0,
    stopWhen: [...(at === 'stopWhen' ? [hook].flat() : []), sdk.stepCountIs(20)],
    ...(old ? { experimental_context: {} } : { runtimeContext: {}, toolsContext: contexts }),
    ...(at === 'prepareStep' || at === 'onStepFinish' ? { [at]: hook } : {}),
    ...field(old && !(Agent && major(version) === 6) ? 'system' : 'instructions', talk.instructions),
  };
  const agent = Agent && new Agent(settings);
  const all = { ...settings, messages: given, onError: () => {} };
  const result = await (agent ? agent[path]({ messages: given }) : sdk[`${path}Text`](all));
  if (path === 'stream') await drained(result.fullStream);
  const [steps, text, finishReason, response, responseMessages] = await Promise.all(
    ['steps', 'text', 'finishReason', 'response', 'responseMessages'].map((key) => result[key]),
  );
  // The messages that a caller appends: in 7 those of all steps, which before were those of the last step's response.
  const said = responseMessages ?? response.messages;
  return { steps, result: { text, finishReason, messages: said }, said };
}

const USAGE = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };

// A scripted model as the version expects it.
function model(session, version) {
  const respond = async ({ prompt }) => {
    const content = messages
      .said((await session.answer(prompt)).parts)
      .map((part) => (part.input ? { ...part, input: JSON.stringify(part.input) } : part));
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
