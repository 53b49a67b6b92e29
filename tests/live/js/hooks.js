// Hooks of each boundary: one that pollutes subtly, one that does the same with new objects, and what makes it wrong or right.
const list = (content) => (Array.isArray(content) ? content : []);
const hide = (text) => text.replace(/\S+@\S+/g, '***');

export const boundaries = {
  prepareStep: {
    // A new list and new messages, and the parts are the caller's and the run's.
    polluting:
      () =>
      ({ messages }) => ({
        messages: messages.map((message) =>
          Array.isArray(message.content)
            ? {
                ...message,
                content: message.content.map((part) => {
                  if (part.type === 'text') part.text = hide(part.text);
                  return part;
                }),
              }
            : message,
        ),
      }),
    clean:
      () =>
      ({ messages }) => ({
        messages: messages.map((message) =>
          Array.isArray(message.content)
            ? {
                ...message,
                content: message.content.map((part) =>
                  part.type === 'text' ? { ...part, text: hide(part.text) } : part,
                ),
              }
            : message,
        ),
      }),
    place: /^messages\[\d+\]\.content\[\d+\]\.text$/,
  },
  onStepFinish: {
    // A logger that takes large outputs out of what it was given.
    polluting: () => {
      const log = [];
      return ({ content }) => {
        for (const part of content)
          if (part.type === 'tool-result' && part.output?.result)
            part.output.result = part.output.result.slice(0, 10);
        log.push(content);
      };
    },
    clean: () => {
      const log = [];
      return ({ content }) => {
        const kept = structuredClone(content);
        for (const part of kept)
          if (part.type === 'tool-result' && part.output?.result)
            part.output.result = part.output.result.slice(0, 10);
        log.push(kept);
      };
    },
    place: /^content\[\d+\]\.output\.result$/,
  },
  stopWhen: {
    polluting:
      () =>
      ({ steps }) => {
        const calls = steps.at(-1).content.filter(({ type }) => type === 'tool-call');
        calls.forEach((call) => {
          call.input.query = String(call.input.query).toLowerCase().replaceAll('-', ' ');
        });
        return calls.length > 5;
      },
    clean:
      () =>
      ({ steps }) => {
        const calls = steps
          .at(-1)
          .content.filter(({ type }) => type === 'tool-call')
          .map((call) => ({
            ...call,
            input: { ...call.input, query: String(call.input.query).toLowerCase().replaceAll('-', ' ') },
          }));
        return calls.length > 5;
      },
    place: /^steps\[\d+\]\.content\[\d+\]\.input\.query$/,
  },
  execute: {
    polluting:
      () =>
      (input, { messages }) => {
        const context = messages.slice(-3);
        for (const { role, content } of context)
          if (role === 'user')
            for (const part of list(content)) if (part.type === 'text') part.text = part.text.toUpperCase();
        return { context: context.length };
      },
    clean:
      () =>
      (input, { messages }) => {
        const context = structuredClone(messages.slice(-3));
        for (const { role, content } of context)
          if (role === 'user')
            for (const part of list(content)) if (part.type === 'text') part.text = part.text.toUpperCase();
        return { context: context.length };
      },
    place: /^options\.messages\[\d+\]\.content\[\d+\]\.text$/,
  },
  middleware: {
    // New params, a new prompt, new messages; the value of a tool's output is the one that the run keeps.
    polluting: () => ({
      transformParams: async ({ params }) => ({
        ...params,
        prompt: params.prompt.map((message) =>
          message.role === 'tool'
            ? {
                ...message,
                content: message.content.map((part) => {
                  if (part.output?.value?.items)
                    part.output.value.items = part.output.value.items.slice(0, 1);
                  return part;
                }),
              }
            : message,
        ),
      }),
    }),
    clean: () => ({
      transformParams: async ({ params }) => ({
        ...params,
        prompt: params.prompt.map((message) =>
          message.role === 'tool'
            ? {
                ...message,
                content: message.content.map((part) =>
                  part.output?.value?.items
                    ? {
                        ...part,
                        output: {
                          ...part.output,
                          value: { ...part.output.value, items: part.output.value.items.slice(0, 1) },
                        },
                      }
                    : part,
                ),
              }
            : message,
        ),
      }),
      wrapGenerate: async ({ doGenerate }) => {
        const result = await doGenerate();
        return { ...result, content: result.content.filter(({ type }) => type !== 'reasoning') };
      },
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        return {
          stream: stream.pipeThrough(
            new TransformStream({
              transform: (chunk, controller) =>
                controller.enqueue(
                  chunk.type === 'text-delta' ? { ...chunk, delta: chunk.delta.trim() } : chunk,
                ),
            }),
          ),
          ...rest,
        };
      },
    }),
    place: /^params\.prompt\[\d+\]\.content\[\d+\]\.output\.value\.items$/,
  },
};

/** State of every sort, none of which is of the conversation. */
export const stateful = () => {
  let count = 0;
  const seen = new WeakMap();
  return ({ messages }) => ({
    messages: messages.map((message) => {
      if (!seen.has(message))
        seen.set(message, {
          ...message,
          providerOptions: {
            trace: {
              count: count++,
              id: crypto.randomUUID(),
              draw: Math.random(),
              at: Date.now(),
              day: new Date().toISOString(),
            },
          },
        });
      return seen.get(message);
    }),
  });
};

/** As the documentation of the AI SDK 6 shows it: correct there, and it piles up in 7. */
export const reminder =
  () =>
  ({ messages }) => ({
    messages: [...messages, { role: 'user', content: 'Remember: answer in one sentence.' }],
  });
