// LangChain 1 in JavaScript: middleware of createAgent.
import { drained } from '../src/dialect.js';

const ROLES = { human: 'user', ai: 'assistant' };
const own = ['model', 'tools', 'tool', 'runtime'];
// What is no conversation stays itself: the model, the tools, and what runs the graph.
const stay = (args) =>
  args.flatMap((arg) => own.map((name) => arg?.[name]).concat(isRuntime(arg) ? arg : []));
const isRuntime = (arg) => typeof arg === 'object' && !('messages' in arg) && !('state' in arg);

const state = {
  when: 'before',
  params: ['state', 'runtime'],
  stay,
  mend: 'return { messages: [...] } with new messages',
};
const around = {
  params: ['request', 'handler'],
  stay,
  passive: ([request, handler]) => handler(request),
  mend: 'call on with new messages: handler({ ...request, messages: request.messages.map(...) })',
};

export const name = 'langchain-js';
export const packages = ['langchain', '@langchain/core/language_models/chat_models'];
export const supports = (version) => version.startsWith('1.');
export const versions = ['1.5.14'];
export const paths = ['generate', 'stream'];
export const boundaries = {
  beforeModel: state,
  afterModel: { ...state, when: 'after' },
  wrapModelCall: { ...around, when: 'before' },
  wrapToolCall: { ...around, when: 'after' },
};

/** The calls and results in messages, in order. */
export const pairs = (messages) =>
  messages.flatMap(({ tool_calls = [], tool_call_id: id }, at) => [
    ...tool_calls.map((call) => ({ at, id: call.id, is: 'call' })),
    ...(id === undefined ? [] : [{ at, id, is: 'result' }]),
  ]);

/** Runs the conversation of `session` with `hook` at its boundary. */
export async function run(session, hook, sdk) {
  const { at, path, talk, beside } = session;
  const middleware = sdk.createMiddleware({ name: 'checked', ...beside, [at]: hook });
  const execute = (_, { toolCall }) => returned(() => session.outcome(toolCall.id));
  const schema = { type: 'object', properties: {} };
  const agent = sdk.createAgent({
    model: new (scripted(session, sdk))({}),
    tools: session.toolNames().map((id) => sdk.tool(execute, { name: id, description: id, schema })),
    middleware: [middleware],
    ...(talk.instructions === undefined ? {} : { systemPrompt: talk.instructions }),
  });
  const translated = (message, number) => messagesOf(message, number, sdk);
  return session.converse({ translated }, async (messages) => {
    const config = { recursionLimit: 500 };
    const ended =
      path === 'stream'
        ? (await drained(await agent.stream({ messages }, { ...config, streamMode: 'values' }))).at(-1)
        : await agent.invoke({ messages }, config);
    return { result: ended.messages, said: ended.messages.slice(messages.length) };
  });
}

// The answer of a tool that never throws.
function returned(outcome) {
  try {
    return textOf(outcome());
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

const textOf = (output) => (typeof output === 'string' ? output : JSON.stringify(output ?? null));

const scripted = (session, sdk) =>
  class extends sdk.BaseChatModel {
    _llmType() {
      return 'scripted';
    }

    bindTools() {
      return this;
    }

    async _generate(messages) {
      const prompt = messages.map((message) => ({
        role: ROLES[message.getType()] ?? message.getType(),
        ...message,
      }));
      const message = answered((await session.answer(prompt)).parts, sdk);
      return { generations: [{ text: message.text, message }] };
    }
  };

function answered(parts, { AIMessage }) {
  const calls = parts.filter(({ type }) => type === 'call');
  return new AIMessage({
    content: parts.filter(({ type }) => type === 'text').map(({ type, text }) => ({ type, text })),
    tool_calls: calls.map(({ id, tool, input }) => ({ type: 'tool_call', id, name: tool, args: input })),
  });
}

const partOf = ({ type, text, data, mediaType }) =>
  type === 'text'
    ? { type, text }
    : { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } };

// Neutral messages as those of the framework; in some a text is a text, in others a list of parts.
function messagesOf({ role, parts }, number, sdk) {
  if (role === 'user') {
    const isText = parts.length === 1 && parts[0].type === 'text' && number % 2 === 0;
    return [new sdk.HumanMessage({ content: isText ? parts[0].text : parts.map(partOf) })];
  }
  const calls = parts.filter(({ type }) => type === 'call');
  return [
    answered(parts, sdk),
    ...calls.map(
      ({ id, tool, output, error, denied }) =>
        new sdk.ToolMessage({ tool_call_id: id, name: tool, content: textOf(output ?? error ?? denied) }),
    ),
  ];
}
