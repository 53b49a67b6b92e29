// Messages of the AI SDK and the neutral ones of conversations (schemas/conversation.schema.json).

const OUTPUTS = { string: 'text' };
const parts = (content) => (Array.isArray(content) ? content : []);

export const field = (key, value) => (value === undefined ? {} : { [key]: value });

/** The calls and results in messages, in order. */
export const pairs = (messages) =>
  messages.flatMap(({ content }, at) =>
    parts(content)
      .filter(({ type }) => type === 'tool-call' || type === 'tool-result')
      .map((part) => ({ at, id: part.toolCallId, is: part.type.slice(5) })),
  );

/** The answers of a person to the approvals that messages ask for. */
export function approvals(messages, session) {
  const asked = messages.flatMap(({ content }) =>
    parts(content).filter(({ type }) => type === 'tool-approval-request'),
  );
  return asked.map(({ approvalId, toolCallId }) => {
    const { denied } = session.call(toolCallId);
    return {
      type: 'tool-approval-response',
      approvalId,
      approved: denied === undefined,
      ...field('reason', denied),
    };
  });
}

/** A neutral message as messages of the AI SDK; those of one text are a text or a list of parts, by `number`. */
export function translated({ role, parts: said }, number) {
  if (said.length === 1 && said[0].type === 'text' && number % 2 === 0)
    return [{ role, content: said[0].text }];
  if (role === 'user')
    return [
      {
        role,
        content: said.map(({ type, ...part }) =>
          type === 'file'
            ? { type: 'image', image: part.data, mediaType: part.mediaType }
            : { type, ...part },
        ),
      },
    ];
  const content = said.map((part) =>
    part.type === 'call'
      ? { type: 'tool-call', toolCallId: part.id, toolName: part.tool, input: part.input }
      : part,
  );
  const results = said
    .filter(({ type }) => type === 'call')
    .map((part) => ({ type: 'tool-result', toolCallId: part.id, toolName: part.tool, output: output(part) }));
  return [{ role, content }, ...(results.length > 0 ? [{ role: 'tool', content: results }] : [])];
}

function output({ output: value, error, denied }) {
  if (error !== undefined || denied !== undefined) return { type: 'error-text', value: error ?? denied };
  return { type: OUTPUTS[typeof value] ?? 'json', value };
}

/** Recorded messages of the AI SDK as neutral ones, with the system prompt: each call has its outcome in it. */
export function neutral(messages) {
  const results = new Map(
    messages
      .flatMap(({ role, content }) => (role === 'tool' ? content : []))
      .filter(({ type }) => type === 'tool-result')
      .map((part) => [part.toolCallId, part.output]),
  );
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  return {
    ...field('instructions', system.length > 0 ? system.join('\n') : undefined),
    messages: said
      .map(({ role, content }) => ({
        role,
        parts: spoken(content).flatMap((part) => neutralPart(part, results)),
      }))
      .filter((message) => message.parts.length > 0),
  };
}

const spoken = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);

function neutralPart(part, results) {
  if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text }];
  if (part.type === 'tool-call')
    return [
      {
        type: 'call',
        id: part.toolCallId,
        tool: part.toolName,
        input: Object(part.input),
        ...outcome(results.get(part.toolCallId)),
      },
    ];
  const data = part.image ?? part.data;
  return typeof data === 'string' && !/^https?:/.test(data)
    ? [{ type: 'file', mediaType: part.mediaType ?? 'image/png', data }]
    : [];
}

function outcome(result) {
  if (result === undefined) return { output: null };
  if (result.type === 'error-text' || result.type === 'error-json')
    return { error: typeof result.value === 'string' ? result.value : JSON.stringify(result.value) };
  return result.type === 'execution-denied'
    ? { denied: result.reason ?? 'denied', approval: true }
    : { output: result.value ?? null };
}
