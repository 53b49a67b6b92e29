// The OpenAI Agents SDK for JavaScript: callbacks of a run.
import { drained, field } from '../src/dialect.js';

export const name = 'openai-agents-js';
export const packages = ['@openai/agents'];
export const supports = (version) => version.startsWith('0.');
export const versions = ['0.20.0'];
export const paths = ['generate', 'stream'];
export const boundaries = {
  callModelInputFilter: {
    when: 'before',
    first: ['modelData'],
    stay: ['agent', 'context'],
    passive: ([{ modelData }]) => modelData,
    messages: ([{ modelData }]) => modelData.input,
    output: (returned) => returned?.input,
    again: ([given], input) => [{ ...given, modelData: { ...given.modelData, input } }],
    mend: 'return new model data with new items: { ...modelData, input: modelData.input.map(...) }',
  },
  sessionInputCallback: {
    when: 'before',
    params: ['history', 'input'],
    passive: ([history, input]) => [...history, ...input],
    messages: ([history, input]) => [...history, ...input],
    output: (returned) => returned,
    mend: 'return a new list with new items',
  },
};

const PAIRED = { function_call: 'call', function_call_result: 'result' };

/** The calls and results in items, in order. */
export const pairs = (items) =>
  items.flatMap(({ type, callId: id }, at) => (PAIRED[type] ? [{ at, id, is: PAIRED[type] }] : []));

/** Runs the conversation of `session` with `hook` at its boundary. */
export function run(session, hook, sdk) {
  const { at, path, talk, beside } = session;
  const kit = session.toolNames().map((id) =>
    sdk.tool({
      name: id,
      description: id,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      strict: false,
      needsApproval: async (_, __, callId) => session.call(callId)?.approval === true,
      execute: (_, __, { toolCall }) => session.outcome(toolCall.callId),
    }),
  );
  const settings = { name: 'checked', model: model(session, sdk), tools: kit };
  const agent = new sdk.Agent({ ...settings, ...field('instructions', talk.instructions) });
  const hooks = { ...beside, [at]: hook };
  const memory = hooks.sessionInputCallback ? new Memory() : undefined;
  const options = { maxTurns: 60, tracingDisabled: true, stream: path === 'stream', ...hooks };
  const runner = new sdk.Runner({ tracingDisabled: true });
  const ended = async (input) => {
    const result = await runner.run(agent, input, { ...options, ...field('session', memory) });
    if (path === 'stream') await drained(result);
    const asked = result.interruptions ?? [];
    for (const item of asked) {
      if (session.call(item.rawItem.callId)?.denied === undefined) result.state.approve(item);
      else result.state.reject(item);
    }
    return asked.length > 0 ? ended(result.state) : result;
  };
  let held = 0;
  return session.converse({ translated }, async (items) => {
    // What a session holds the caller does not pass on.
    if (memory) memory.items.push(...items.slice(held, -1));
    held = items.length;
    const { history, finalOutput } = await ended(memory ? items.slice(-1) : items);
    const said = memory ? [] : history.slice(items.length);
    return { result: { history, finalOutput }, said, ...field('store', memory?.items) };
  });
}

// A session as people write it: a list of the items themselves.
class Memory {
  items = [];
  getSessionId = async () => 'checked';
  getItems = async (limit) => (limit === undefined ? [...this.items] : this.items.slice(-limit));
  addItems = async (items) => void this.items.push(...items);
  popItem = async () => this.items.pop();
  clearSession = async () => void this.items.splice(0);
}

function model(session, { Usage }) {
  const getResponse = async ({ input, systemInstructions }) => {
    const system = { role: 'system', content: systemInstructions };
    // The instructions come last, so that items have the places that they have in the model data.
    const { parts } = await session.answer([...[input].flat(), system]);
    return { usage: new Usage(), output: answered(parts), responseId: 'r' };
  };
  return {
    getResponse,
    async *getStreamedResponse(request) {
      const { output, responseId: id } = await getResponse(request);
      const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
      yield { type: 'response_done', response: { id, usage, output } };
    },
  };
}

const answered = (parts) =>
  parts.flatMap(({ type, text, id: callId, tool, input }) => {
    if (type === 'call')
      return [
        { type: 'function_call', callId, name: tool, status: 'completed', arguments: JSON.stringify(input) },
      ];
    const content = [{ type: 'output_text', text }];
    return type === 'text' ? [{ type: 'message', role: 'assistant', status: 'completed', content }] : [];
  });

const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

const partOf = ({ type, text, data, mediaType }) =>
  type === 'text'
    ? { type: 'input_text', text }
    : { type: 'input_image', image: `data:${mediaType};base64,${data}` };

// A neutral message as items; in some a text is a text, in others a list of parts.
function translated({ role, parts }, number) {
  if (role === 'user') {
    const isText = parts.length === 1 && parts[0].type === 'text' && number % 2 === 0;
    return [{ type: 'message', role, content: isText ? parts[0].text : parts.map(partOf) }];
  }
  const results = parts
    .filter(({ type }) => type === 'call')
    .map(({ id: callId, tool, output, error, denied }) => ({
      type: 'function_call_result',
      ...{ callId, name: tool, status: 'completed' },
      output: { type: 'text', text: textOf(output ?? error ?? denied) },
    }));
  return [...answered(parts), ...results];
}
