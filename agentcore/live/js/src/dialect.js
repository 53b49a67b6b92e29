// Messages as lists of parts with roles: what most frameworks have, told by the names of their fields.

/** `{[key]: value}`, or nothing where there is no value. */
export const field = (key, value) => (value === undefined ? {} : { [key]: value });

const partsOf = ({ content }) => (Array.isArray(content) ? content : []);
const isCall = ({ type }) => type === 'call';

/**
 * The translations between neutral messages (schemas/conversation.schema.json) and those of a framework.
 * @param {object} of
 * @param {{type: string, id: string, tool: string, input: string}} of.call The type of a part that calls a tool, and the names of its fields.
 * @param {{type: string, id: string, tool?: string, output: string, role?: string}} of.result The same for a result; the role of the
 *   message that holds results.
 * @param {(outcome: object) => unknown} [of.output] The framework's form of `{output}`, `{error}` or `{denied}`; by default its value.
 * @param {(output: any) => object} [of.outcome] The way back.
 * @param {{request: string, response: string, id: string}} [of.approval] The types of the parts that ask for a person's approval of a call, and
 *   answer; the field of their common id.
 * @param {(part: object, number: number) => object} [of.file] The framework's form of a file `{data, mediaType}`; where it has several, by number.
 * @param {string} [of.options] The field for options of a provider, which some messages and parts then have.
 * @param {boolean} [of.text] Whether a message of one text may be the text itself (true).
 * @returns `{translated, said, answered, pairs, neutral}`: messages of the framework for a neutral one, its number and the conversation's variant; parts for neutral parts;
 *   the messages that answer requests for approval; the calls and results in messages, in order; a conversation for recorded messages.
 */
export function dialect({
  call,
  result,
  output = (outcome) => outcome.output ?? outcome.error ?? outcome.denied ?? null,
  outcome = (value) => ({ output: value ?? null }),
  approval,
  file = (part) => part,
  options,
  text = true,
}) {
  const resultOf = (part) => ({
    type: result.type,
    [result.id]: part.id,
    ...(result.tool ? { [result.tool]: part.tool } : {}),
    [result.output]: output(part),
  });
  const partOf = (part, number) => {
    if (part.type === 'file') return file(part, number);
    return isCall(part)
      ? { type: call.type, [call.id]: part.id, [call.tool]: part.tool, [call.input]: part.input }
      : { ...part };
  };
  const said = (parts, number = 0) => parts.map((part, index) => partOf(part, number + index));
  // Options are for some messages and some parts, nested as those of providers are.
  const marked = (target, number) => {
    if (!options || number % 3 !== 1) return target;
    const cached = number % 2 === 1 ? { anthropic: { cacheControl: { type: 'ephemeral' } } } : {};
    return { ...target, [options]: { app: { tags: [`mark ${number}`] }, ...cached } };
  };

  // In some conversations texts are texts, in some lists of parts, and in some now this, now that.
  const isText = (number, variant) => text && [true, false, number % 2 === 0][variant % 3];

  function translated({ role, parts }, number, variant = number) {
    if (parts.length === 1 && parts[0].type === 'text' && isText(number, variant))
      return [marked({ role, content: parts[0].text }, number)];
    const results = parts.filter(isCall).map(resultOf);
    const content = said(parts, number).map((part, index) => marked(part, number + index + 1));
    return [
      marked({ role, content }, number),
      ...(results.length > 0 ? [{ role: result.role ?? 'tool', content: results }] : []),
    ];
  }

  const isOf = {
    [call.type]: (part) => ({ id: part[call.id], is: 'call' }),
    [result.type]: (part) => ({ id: part[result.id], is: 'result' }),
  };
  const pairs = (messages) =>
    messages.flatMap((message, at) =>
      partsOf(message)
        .filter(({ type }) => type in isOf)
        .map((part) => ({ at, ...isOf[part.type](part) })),
    );

  const neutralPart = (part, outcomes) => {
    if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text }];
    if (part.type === call.type) {
      const outcome = outcomes.get(part[call.id]) ?? { output: null };
      const approval = outcome.denied === undefined ? {} : { approval: true };
      return [
        {
          type: 'call',
          id: part[call.id],
          tool: part[call.tool],
          input: Object(part[call.input]),
          ...approval,
          ...outcome,
        },
      ];
    }
    const data = part.image ?? part.data;
    return typeof data === 'string' && !/^https?:/.test(data)
      ? [{ type: 'file', mediaType: part.mediaType ?? 'image/png', data }]
      : [];
  };

  /** Recorded messages as neutral ones, with the system prompt: each call has its outcome in it. */
  function neutral(messages) {
    const results = messages.flatMap(partsOf).filter(({ type }) => type === result.type);
    const outcomes = new Map(results.map((part) => [part[result.id], plain(outcome(part[result.output]))]));
    const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
    const spoken = messages
      .filter(({ role }) => role === 'user' || role === 'assistant')
      .map(({ role, content }) => ({
        role,
        parts: (typeof content === 'string' ? [{ type: 'text', text: content }] : content).flatMap((part) =>
          neutralPart(part, outcomes),
        ),
      }));
    return {
      ...field('instructions', system.length > 0 ? system.join('\n') : undefined),
      messages: spoken.filter(({ parts }) => parts.length > 0),
    };
  }

  /** What a person answers to the approvals that `messages` ask for, as messages; `callOf` has the scripted call of an id. */
  function answered(messages, callOf) {
    const asked = approval ? messages.flatMap(partsOf).filter(({ type }) => type === approval.request) : [];
    const content = asked.map((part) => {
      const { denied: reason } = callOf(part[call.id]);
      const approved = reason === undefined;
      return {
        type: approval.response,
        [approval.id]: part[approval.id],
        approved,
        ...field('reason', reason),
      };
    });
    return content.length > 0 ? [{ role: result.role ?? 'tool', content }] : [];
  }

  return { translated, said, answered, pairs, neutral };
}

// Errors are texts in conversations.
const plain = ({ error, ...rest }) =>
  error === undefined ? rest : { error: typeof error === 'string' ? error : JSON.stringify(error) };

/** The parts of a stream, read to its end; throws the first error in it. */
export async function drained(stream) {
  let failure;
  const parts = [];
  for await (const part of stream) {
    parts.push(part);
    if (part.type === 'error') failure ??= part;
  }
  if (failure) throw failure.error;
  return parts;
}
