// An adapter of a loop of one's own, complete: copy it, put your loop in place of the toy, and run the compliance suite on it.
//
//   check-hook hooks.js#beforeModel --in ./my-adapter.js:adapter --at beforeModel
//
// An adapter says how to run one conversation with one hook, and what the framework promises at each boundary. It knows nothing of
// checks: copies, comparisons, randomness and findings are the core's.

// The loop. Yours is imported from your own code.
async function toyLoop({ messages, model, tools, beforeModel, afterTool }) {
  const steps = [];
  for (;;) {
    const returned = await beforeModel({ messages, step: steps.length });
    const answer = await model(returned?.messages ?? messages);
    messages.push({ role: 'assistant', content: answer });
    const calls = answer.filter(({ type }) => type === 'call');
    for (const { id, tool, input } of calls)
      messages.push({
        role: 'tool',
        content: [await afterTool({ type: 'result', id, output: await tools(tool, id, input) })],
      });
    steps.push({ answer });
    if (calls.length === 0) return { messages, steps };
  }
}

export const adapter = {
  // The value of --in in reports.
  name: 'toy-loop',
  // The package that is judged, first; its version is read from the person's project, and what it exports is the `sdk` of `run`.
  // A loop that is no package has none, and says its version here.
  packages: [],
  version: '1.0.0',
  // The loop's ways to run the same conversation. One is enough.
  paths: ['generate'],
  boundaries: {
    beforeModel: {
      // 'before' or 'after' the model's call: tells whether the first prompt after a write is this one or the next.
      when: 'before',
      // Fields of the single argument whose places are reported first. For several arguments: `params`, their names.
      first: ['messages'],
      // What stays itself: the person's own context, models, handlers. Functions and class instances with private state do so anyway.
      // Names of fields, or a function of the arguments that returns the objects.
      stay: ['context'],
      // The messages in the arguments, and in what the hook returned; undefined if it returned none. For rules about messages.
      messages: ([{ messages }]) => messages,
      output: (returned) => returned?.messages,
      // The arguments of one more call on what it returned, for not-idempotent.
      again: ([argument], messages) => [{ ...argument, messages }],
      // What stands for the hook when there is none; given the arguments and the session.
      passive: () => undefined,
      // What to do instead of writing, as a sentence of the finding.
      mend: 'return { messages: [...] } with new messages',
      // Further members, for boundaries that have these:
      //   outlets: ([context]) => [[context, 'messages']]   slots that may be assigned in place
      //   handles: ([event]) => [event.agent]               live objects that cannot be copied
      //   next: ['doGenerate']                              fields with functions that the hook calls to go on
      //   methods: { name: {...} }                          the hook is an object with these methods
      //   paths: ['stream']                                 paths on which it is met, if not on all
      //   majors: [6, 7]                                    releases that have it, if not all that the adapter supports
      //   method: 'execute'                                 the method of an object, if it is not named like the boundary
    },
    afterTool: {
      when: 'after',
      params: ['result'],
      passive: ([result]) => result,
      mend: 'return a new result',
    },
  },

  // The calls and results in messages, in order, for cuts-pair; without it that rule is not looked for.
  pairs: (messages) =>
    messages.flatMap(({ content }, at) =>
      (Array.isArray(content) ? content : [])
        .filter(({ type }) => type === 'call' || type === 'result')
        .map(({ type, id }) => ({ at, id, is: type })),
    ),

  /**
   * Runs the conversation of `session` with `hook` at its boundary; resolves to what was observed: caller, result, steps, store, observers,
   * each the live objects, which are read when everything has settled.
   *
   * Of the session: `converse(dialect, turn)` does the turns, and observes what `turn(messages)` resolves to: `result`, `steps`, and `said`,
   * the messages that the caller adds if the loop does not (`said` is left out here); `answer(prompt)` records a prompt and resolves to the
   * scripted answer; `outcome(id)` is the output of a tool's call, fresh each time, or an error thrown; `at`, `path`, `variant`, `talk`.
   */
  run(session, hook) {
    return session.converse({ translated }, async (messages) => {
      const { steps } = await toyLoop({
        messages,
        model: async (prompt) =>
          (await session.answer(prompt)).parts.map(({ type, text, id, tool, input }) =>
            type === 'call' ? { type, id, tool, input } : { type, text },
          ),
        tools: async (tool, id) => {
          try {
            return session.outcome(id);
          } catch (error) {
            return `error: ${error.message}`;
          }
        },
        beforeModel: session.at === 'beforeModel' ? hook : () => undefined,
        afterTool: session.at === 'afterTool' ? hook : (result) => result,
      });
      return { steps, result: messages.at(-1) };
    });
  },
};

// Neutral messages (schemas/conversation.schema.json) as the loop's own.
function translated({ role, parts }) {
  const calls = parts.filter(({ type }) => type === 'call');
  const content = parts.map(({ type, text, id, tool, input, data }) =>
    type === 'call' ? { type, id, tool, input } : { type, text: text ?? data },
  );
  return [
    { role, content },
    ...calls.map(({ id, output, error, denied }) => ({
      role: 'tool',
      content: [{ type: 'result', id, output: output ?? error ?? denied ?? null }],
    })),
  ];
}
