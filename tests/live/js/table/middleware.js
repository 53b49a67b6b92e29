// Middleware of language models.
const list = (content) => (Array.isArray(content) ? content : []);
const values = (prompt) =>
  prompt
    .flatMap(({ role, content }) => (role === 'tool' ? content : []))
    .filter(({ type }) => type === 'tool-result');
const through =
  (transform) =>
  async ({ doStream }) => {
    const { stream, ...rest } = await doStream();
    return { stream: stream.pipeThrough(new TransformStream({ transform })), ...rest };
  };

export const polluting = {
  'transformParams trims values of outputs': {
    is: { place: 'params.prompt[*].content[*].output.value.result', seen: ['caller'] },
    make: () => ({
      transformParams: async ({ params }) => {
        for (const { output } of values(params.prompt))
          if (output.value?.result) output.value.result = 'short'; // at
        return params;
      },
    }),
  },
  'transformParams edits inputs of calls': {
    is: { place: 'params.prompt[*].content[*].input.seen', seen: ['caller'] },
    make: () => ({
      transformParams: async ({ params }) => ({
        ...params,
        prompt: params.prompt.map((message) => {
          for (const part of list(message.content)) if (part.type === 'tool-call') part.input.seen = true; // at
          return { ...message };
        }),
      }),
    }),
  },
  'transformParams writes nested provider options': {
    is: { place: 'params.prompt[*].providerOptions.app.route', seen: ['caller'] },
    make: () => ({
      transformParams: async ({ params }) => {
        for (const message of params.prompt)
          if (message.providerOptions?.app) message.providerOptions.app.route = 'eu'; // at
        return params;
      },
    }),
  },
  'transformParams pushes to the prompt and returns it': {
    is: { kind: 'harmless-write', place: 'params.prompt[*]' },
    make: () => ({
      transformParams: async ({ params }) => {
        params.prompt.push({ role: 'user', content: [{ type: 'text', text: 'be brief' }] }); // at
        return params;
      },
    }),
  },
  'transformParams sets a field and returns the same': {
    is: { kind: 'harmless-write', place: 'params.temperature' },
    make: () => ({
      transformParams: async ({ params }) => Object.assign(params, { temperature: 0 }), // at
    }),
  },
  'transformParams keeps prompts and edits them later': {
    is: { place: 'params.prompt[*].content[*].output.value.items', seen: ['caller'] },
    make: () => {
      const kept = [];
      return {
        transformParams: async ({ params }) => {
          for (const { output } of kept.flatMap(values))
            if (output.value?.items) output.value.items.length = 0; // at
          kept.push(params.prompt);
          return params;
        },
      };
    },
  },
  'wrapping writes to params before it goes on': {
    is: { place: 'params.prompt[*]', seen: ['this-prompt'] },
    make: () => ({
      wrapGenerate: async ({ doGenerate, params }) => {
        params.prompt.push({ role: 'user', content: [{ type: 'text', text: 'be brief' }] }); // at
        return doGenerate();
      },
      wrapStream: async ({ doStream, params }) => {
        params.prompt.push({ role: 'user', content: [{ type: 'text', text: 'be brief' }] }); // at
        return doStream();
      },
    }),
  },
  'wrapping edits values after the answer': {
    is: { place: 'params.prompt[*].content[*].output.value.result', seen: ['later-prompts', 'caller'] },
    make: () => {
      const trim = (params) => {
        for (const { output } of values(params.prompt)) if (output.value?.result) output.value.result = 'old'; // at
      };
      return {
        wrapGenerate: async ({ doGenerate, params }) => {
          const result = await doGenerate();
          trim(params);
          return result;
        },
        wrapStream: async ({ doStream, params }) => {
          const result = await doStream();
          trim(params);
          return result;
        },
      };
    },
  },
  'wrapping edits the answer in place and returns it': {
    is: { kind: 'harmless-write', places: ['result.content[*].text', 'chunk.delta'] },
    make: () => ({
      wrapGenerate: async ({ doGenerate }) => {
        const result = await doGenerate();
        for (const part of result.content)
          if (part.type === 'text') part.text = part.text.trim().toUpperCase(); // at
        return result;
      },
      wrapStream: through((chunk, controller) => {
        if (chunk.type === 'text-delta') chunk.delta = chunk.delta.toUpperCase(); // at
        controller.enqueue(chunk);
      }),
    }),
  },
  'wrapping edits the answer later': {
    is: { place: 'result.content[*].text', seen: ['steps'] },
    path: 'generate',
    make: () => {
      let last;
      return {
        wrapGenerate: async ({ doGenerate }) => {
          for (const part of last?.content ?? []) if (part.type === 'text') part.text = 'seen'; // at
          last = await doGenerate();
          return last;
        },
      };
    },
  },
  'stream: values are edited while it is read': {
    is: { place: 'params.prompt[*].content[*].output.value.result', seen: ['later-prompts', 'caller'] },
    path: 'stream',
    make: () => ({
      wrapStream: async ({ doStream, params }) => {
        const { stream, ...rest } = await doStream();
        return {
          stream: stream.pipeThrough(
            new TransformStream({
              transform(chunk, controller) {
                if (chunk.type === 'finish')
                  for (const { output } of values(params.prompt))
                    if (output.value?.result) output.value.result = 'read'; // at
                controller.enqueue(chunk);
              },
            }),
          ),
          ...rest,
        };
      },
    }),
  },
};

export const clean = {
  'only logs': () => ({
    transformParams: async ({ params }) => (console.debug(params.prompt.length), params),
    wrapGenerate: async ({ doGenerate }) => doGenerate(),
    wrapStream: async ({ doStream }) => doStream(),
  }),
  'default settings': () => ({ transformParams: async ({ params }) => ({ temperature: 0, ...params }) }),
  'new prompts': () => ({
    transformParams: async ({ params }) => ({
      ...params,
      prompt: [...params.prompt, { role: 'user', content: [{ type: 'text', text: 'be brief' }] }],
    }),
  }),
  'clones and edits': () => ({
    transformParams: async ({ params }) => {
      const prompt = structuredClone(params.prompt);
      for (const { output } of values(prompt)) output.value = 'short';
      return { ...params, prompt };
    },
  }),
  'caches answers': {
    path: 'generate',
    make: () => {
      const cache = new Map();
      return {
        wrapGenerate: async ({ doGenerate, params }) => {
          const key = JSON.stringify(params.prompt);
          if (!cache.has(key)) cache.set(key, await doGenerate());
          return cache.get(key);
        },
      };
    },
  },
  'new answers': () => ({
    wrapGenerate: async ({ doGenerate }) => {
      const result = await doGenerate();
      return {
        ...result,
        content: result.content.map((part) =>
          part.type === 'text' ? { ...part, text: part.text.toUpperCase() } : part,
        ),
      };
    },
    wrapStream: through((chunk, controller) =>
      controller.enqueue(
        chunk.type === 'text-delta' ? { ...chunk, delta: chunk.delta.toUpperCase() } : chunk,
      ),
    ),
  }),
  'times calls': () => {
    const times = [];
    const timed = async (work) => {
      const started = performance.now();
      const result = await work();
      times.push(performance.now() - started);
      return result;
    };
    return {
      wrapGenerate: ({ doGenerate }) => timed(doGenerate),
      wrapStream: ({ doStream }) => timed(doStream),
    };
  },
  'tees a stream for a log': {
    path: 'stream',
    make: () => ({
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        const [one, other] = stream.tee();
        (async () => {
          for await (const chunk of other) console.debug(chunk.type);
        })();
        return { stream: one, ...rest };
      },
    }),
  },
  'a stream from an async generator': {
    path: 'stream',
    make: () => ({
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream();
        return {
          stream: ReadableStream.from(
            (async function* () {
              for await (const chunk of stream) yield { ...chunk };
            })(),
          ),
          ...rest,
        };
      },
    }),
  },
  'collects text of the answer': () => {
    const texts = [];
    return {
      wrapGenerate: async ({ doGenerate }) => {
        const result = await doGenerate();
        texts.push(result.content.map(({ text }) => text).join(''));
        return result;
      },
      wrapStream: through((chunk, controller) => {
        if (chunk.type === 'text-delta') texts.push(chunk.delta);
        controller.enqueue(chunk);
      }),
    };
  },
  'a class': () =>
    new (class Middleware {
      calls = 0;
      async transformParams({ params }) {
        this.calls++;
        return params;
      }
    })(),
};
