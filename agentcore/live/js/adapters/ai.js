// The AI SDK, 5 to 7: generateText, streamText and ToolLoopAgent.
const OUTPUTS = { string: 'text' };
const parts = (content) => (Array.isArray(content) ? content : []);
const major = (version) => Number.parseInt(version, 10);
const field = (key, value) => (value === undefined ? {} : { [key]: value });

export const name = 'ai';
export const packages = ['ai'];
export const supports = (version) => major(version) >= 5 && major(version) <= 7;
export const versions = ['5.0.277', '6.0.134', '7.0.173'];
export const paths = ['generate', 'stream'];
export const documentation = 'https://ai-sdk.dev/docs/agents/loop-control';

const context = ([options]) => [options.experimental_context, options.runtimeContext, options.toolsContext, options.context, options.abortSignal];

export const boundaries = {
  prepareStep: {
    when: 'before',
    first: ['messages', 'initialMessages', 'responseMessages', 'steps'],
    stay: context,
    messages: ([options]) => options.messages,
    output: (returned) => returned?.messages,
    again: ([options], messages) => [{ ...options, messages }],
    passive: () => undefined,
    mend: 'return { messages: [...] } with new messages and new parts, and leave those of the arguments as they are',
  },
  onStepFinish: { when: 'after', first: ['content', 'response'], stay: context, mend: 'copy what the callback needs: structuredClone(step.content)' },
  stopWhen: { when: 'after', first: ['steps'], passive: () => false, mend: 'only read the steps, and return true or false' },
  execute: {
    when: 'after',
    params: ['input', 'options'],
    stay: ([, options]) => context([options]),
    passive: ([, options], session) => session.outcome(options.toolCallId),
    mend: 'copy the messages before you change them: structuredClone(options.messages)',
  },
  middleware: {
    when: 'before',
    mend: 'return new params with a new prompt: { ...params, prompt: params.prompt.map(...) }',
    methods: {
      transformParams: { when: 'before', first: ['params'], messages: ([{ params }]) => params.prompt, output: (returned) => returned?.prompt, passive: ([{ params }]) => params },
      wrapGenerate: { when: 'before', first: ['params'], next: ['doGenerate', 'doStream'], passive: ([{ doGenerate }]) => doGenerate() },
      wrapStream: { when: 'before', first: ['params'], next: ['doGenerate', 'doStream'], passive: ([{ doStream }]) => doStream() },
    },
  },
};

/** The calls and results in messages, in order. */
export const pairs = (messages) =>
  messages.flatMap(({ content }, at) => parts(content).filter(({ type }) => type === 'tool-call' || type === 'tool-result').map((part) => ({ at, id: part.toolCallId, is: part.type.slice(5) })));

/** Runs the conversation of `session` with `hook` at its boundary. */
export async function run(session, hook, sdk, version) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const world = { session, hook, sdk, version, messages: [], results: [] };
  const observed = { caller: world.messages, result: world.results, steps: [] };
  for (let turn = session.nextTurn(); turn; turn = session.nextTurn()) {
    world.messages.push(...turn.messages.flatMap((message, index) => translated(message, index, world)));
    for (let waiting = true; waiting;) {
      const last = await call(world);
      world.results.push({ text: last.text, finishReason: last.finishReason, messages: last.messages });
      observed.steps.push(last.steps.map(({ content, response }) => ({ content, messages: response.messages })));
      const answers = approvals(last.messages, session);
      waiting = answers.length > 0;
      if (waiting || session.hasNextTurn()) world.messages.push(...last.messages, ...(waiting ? [{ role: 'tool', content: answers }] : []));
    }
  }
  return observed;
}

async function call({ session, hook, sdk, version, messages }) {
  const { at, path, talk, variant } = session;
  const bare = model(session, version);
  const tools = Object.fromEntries(session.toolNames().map((tool) => [tool, scripted(session, sdk, at === 'execute' ? hook : undefined)]));
  const settings = {
    model: at === 'middleware' ? sdk.wrapLanguageModel({ model: bare, middleware: hook }) : bare,
    tools,
    maxRetries: 0,
    stopWhen: [...(at === 'stopWhen' ? [hook].flat() : []), sdk.stepCountIs(20)],
    ...(at === 'prepareStep' || at === 'onStepFinish' ? { [at]: hook } : {}),
  };
  const Agent = variant % 4 === 3 ? (sdk.ToolLoopAgent ?? sdk.Experimental_Agent) : undefined;
  const system = field(major(version) < 7 && !(Agent && major(version) === 6) ? 'system' : 'instructions', talk.instructions);
  const agent = Agent && new Agent({ ...settings, ...system });
  if (path === 'generate') return read(agent ? await agent.generate({ messages }) : await sdk.generateText({ ...settings, ...system, messages }));
  return read(await streamed(agent ? await agent.stream({ messages }) : sdk.streamText({ ...settings, ...system, messages, onError: () => {} })));
}

async function streamed(result) {
  let failure;
  for await (const part of result.fullStream) if (part.type === 'error') failure ??= part;
  if (failure) throw failure.error;
  return { steps: await result.steps, text: await result.text, finishReason: await result.finishReason, response: await result.response, responseMessages: await result.responseMessages };
}

// The messages that a caller appends: in 7 those of all steps, which before were those of the last step's response.
const read = ({ steps, text, finishReason, response, responseMessages }) => ({ steps, text, finishReason, messages: responseMessages ?? response.messages });

function model(session, version) {
  const respond = async ({ prompt }) => spoken((await session.answer(prompt)).parts, version);
  return {
    specificationVersion: { 5: 'v2', 6: 'v3', 7: 'v4' }[major(version)],
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: async (options) => ({ ...(await respond(options)), warnings: [] }),
    doStream: async (options) => ({ stream: chunks(await respond(options)) }),
  };
}

function spoken(answer, version) {
  const content = answer.map((part) => (part.type === 'call' ? { type: 'tool-call', toolCallId: part.id, toolName: part.tool, input: JSON.stringify(part.input) } : part));
  const reason = answer.some(({ type }) => type === 'call') ? 'tool-calls' : 'stop';
  if (major(version) === 5) return { content, finishReason: reason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
  return { content, finishReason: { unified: reason, raw: reason }, usage: { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } } };
}

function chunks({ content, finishReason, usage }) {
  const of = (part, id) => (part.type === 'tool-call' ? [part] : [{ type: `${part.type}-start`, id }, { type: `${part.type}-delta`, id, delta: part.text }, { type: `${part.type}-end`, id }]);
  const all = [{ type: 'stream-start', warnings: [] }, ...content.flatMap((part, index) => of(part, String(index))), { type: 'finish', finishReason, usage }];
  return new ReadableStream({ start: (controller) => { all.forEach((chunk) => controller.enqueue(chunk)); controller.close(); } });
}

function scripted(session, sdk, hook) {
  return {
    inputSchema: sdk.jsonSchema({ type: 'object' }),
    needsApproval: (_, { toolCallId }) => session.call(toolCallId)?.approval === true,
    execute: hook ?? (async (_, { toolCallId }) => session.outcome(toolCallId)),
  };
}

function approvals(messages, session) {
  const asked = messages.flatMap(({ content }) => parts(content).filter(({ type }) => type === 'tool-approval-request'));
  return asked.map(({ approvalId, toolCallId }) => {
    const { denied } = session.call(toolCallId);
    return { type: 'tool-approval-response', approvalId, approved: denied === undefined, ...field('reason', denied) };
  });
}

// Messages of one text are written as a text and as a list of parts, by turns.
function translated({ role, parts: said }, index, { session }) {
  if (said.length === 1 && said[0].type === 'text' && (index + session.variant) % 2 === 0) return [{ role, content: said[0].text }];
  if (role === 'user') return [{ role, content: said.map(({ type, ...part }) => (type === 'file' ? { type: 'image', image: part.data, mediaType: part.mediaType } : { type, ...part })) }];
  const content = said.map((part) => (part.type === 'call' ? { type: 'tool-call', toolCallId: part.id, toolName: part.tool, input: part.input } : part));
  const results = said.filter(({ type }) => type === 'call').map((part) => ({ type: 'tool-result', toolCallId: part.id, toolName: part.tool, output: output(part) }));
  return [{ role, content }, ...(results.length > 0 ? [{ role: 'tool', content: results }] : [])];
}

function output({ output: value, error, denied }) {
  if (error !== undefined || denied !== undefined) return { type: 'error-text', value: error ?? denied };
  return { type: OUTPUTS[typeof value] ?? 'json', value };
}
