// Strands Agents 1 in TypeScript: middleware of an Agent, and hooks of its events.
import { drained, field } from '../src/dialect.js';

const own = ['agent', 'model', 'tool', 'tools', 'toolSpecs', 'invocationState', 'cancelSignal', 'options'];
const stay = ([context]) => own.map((name) => context[name]);
// The agent stays itself; its messages are the conversation. Which messages are in its list is for hooks to say, and not what they say.
const handles = ([{ agent }]) => [[...agent.messages]];
const reaches = ([{ agent }]) => [['agent.messages', agent.messages]];
const passive = ([context]) => context;
const event = (when, ...outlets) => ({
  when,
  params: ['event'],
  stay,
  handles,
  reaches,
  outlets: ([given]) => outlets.map((key) => [given, key]),
  mend: 'put new messages into event.agent.messages, and leave those that are there as they are',
});

export const name = 'strands';
export const packages = ['@strands-agents/sdk'];
export const supports = (version) => version.startsWith('1.');
export const versions = ['1.19.0'];
export const paths = ['generate', 'stream'];
export const boundaries = {
  'InvokeModelStage.Input': {
    ...{ when: 'before', stay, handles, reaches, passive },
    first: ['messages'],
    messages: ([context]) => context.messages,
    output: (returned) => returned?.messages,
    again: ([context], messages) => [{ ...context, messages }],
    mend: 'return a new context with new messages: { ...context, messages: context.messages.map(...) }',
  },
  'ExecuteToolStage.Input': {
    ...{ when: 'after', stay, handles, reaches, passive },
    first: ['toolUse'],
    mend: 'return a new context: { ...context, toolUse: { ...context.toolUse, input: ... } }',
  },
  AgentStreamStage: {
    when: 'before',
    params: ['context', 'next'],
    stay,
    passive: ([context, next]) => next(context),
    mend: 'call on with a new context: next({ ...context, args: ... })',
  },
  BeforeModelCallEvent: event('before', 'cancel'),
  AfterModelCallEvent: event('after', 'retry'),
};

/** The calls and results in messages, in order. */
export const pairs = (messages) =>
  messages.flatMap(({ content }, at) =>
    (Array.isArray(content) ? content : [])
      .filter(({ type }) => type === 'toolUseBlock' || type === 'toolResultBlock')
      .map(({ type, toolUseId: id }) => ({ at, id, is: type === 'toolUseBlock' ? 'call' : 'result' })),
  );

/** Runs the conversation of `session` with `hook` at its boundary. */
export function run(session, hook, sdk) {
  const { path, talk } = session;
  const inputSchema = { type: 'object', properties: {} };
  const callback = (_, { toolUse }) => session.outcome(toolUse.toolUseId);
  const tools = session
    .toolNames()
    .map((name) => new sdk.FunctionTool({ name, description: name, inputSchema, callback }));
  const settings = { model: new (scripted(session, sdk))(), tools, printer: false };
  const translated = (message) => dataOf(message).map((data) => sdk.Message.fromMessageData(data));
  let agent;
  return session.converse({ translated }, async (given) => {
    // The agent keeps the conversation; the caller passes what is new.
    const [messages, request] = [given.slice(0, -1), given.slice(-1)];
    agent ??= attached(
      new sdk.Agent({ ...settings, messages, ...field('systemPrompt', talk.instructions) }),
      { ...session.beside, [session.at]: hook },
      sdk,
    );
    const ended = path === 'stream' ? (await drained(agent.stream(request))).at(-1) : undefined;
    const { lastMessage, stopReason } = ended?.result ?? (await agent.invoke(request));
    return { result: { lastMessage, stopReason }, store: agent.messages };
  });
}

function attached(agent, hooks, sdk) {
  for (const [name, hook] of Object.entries(hooks)) {
    const [stage, phase = 'Wrap'] = name.split('.');
    if (name.endsWith('Event')) agent.addHook(sdk[name], hook);
    else if (sdk[stage]) agent.addMiddleware(sdk[stage][phase], hook);
    else atFirstStage(agent._middlewareRegistry, hook);
  }
  return agent;
}

// 1.19 runs AgentStreamStage and exports it no more: it is the first stage of each call.
function atFirstStage(registry, hook) {
  const { invoke } = registry;
  registry.invoke = (stage, ...rest) => {
    registry.invoke = invoke;
    registry.add(stage, hook);
    return registry.invoke(stage, ...rest);
  };
}

const scripted = (session, sdk) =>
  class extends sdk.Model {
    updateConfig() {}

    getConfig = () => ({ modelId: 'scripted' });

    countTokens = async () => 0;

    async *stream(messages, { systemPrompt }) {
      // The instructions come last, so that messages have the places that they have in the context.
      yield* spoken((await session.answer([...messages, { role: 'system', content: systemPrompt }])).parts);
    }
  };

function* spoken(parts) {
  yield { type: 'modelMessageStartEvent', role: 'assistant' };
  for (const { type, text, id: toolUseId, tool: name, input } of parts) {
    const start = type === 'call' ? { type: 'toolUseStart', name, toolUseId } : undefined;
    const delta = { type: DELTAS[type], ...(start ? { input: JSON.stringify(input) } : { text }) };
    yield { type: 'modelContentBlockStartEvent', ...field('start', start) };
    yield { type: 'modelContentBlockDeltaEvent', delta };
    yield { type: 'modelContentBlockStopEvent' };
  }
  const calls = parts.some(({ type }) => type === 'call');
  yield { type: 'modelMessageStopEvent', stopReason: calls ? 'toolUse' : 'endTurn' };
}

const DELTAS = { text: 'textDelta', reasoning: 'reasoningContentDelta', call: 'toolUseInputDelta' };

// Neutral messages as data of the framework.
function dataOf({ role, parts }) {
  const calls = parts.filter(({ type }) => type === 'call');
  const content = calls.map(({ id: toolUseId, output, error, denied }) => {
    const said = output ?? error ?? denied ?? null;
    const status = output === undefined ? 'error' : 'success';
    const block = typeof said === 'string' ? { text: said } : { json: said };
    return { toolResult: { toolUseId, status, content: [block] } };
  });
  return [{ role, content: parts.map(blockOf) }, ...(calls.length > 0 ? [{ role: 'user', content }] : [])];
}

function blockOf({ type, text, id: toolUseId, tool: name, input, data }) {
  if (type === 'call') return { toolUse: { name, toolUseId, input } };
  const bytes = () => Uint8Array.from(Buffer.from(data, 'base64'));
  if (type === 'file') return { image: { format: 'png', source: { bytes: bytes() } } };
  return type === 'reasoning' ? { reasoning: { text } } : { text };
}
