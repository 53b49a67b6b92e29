// Hooks for prepareStep. `at` in a comment marks the lines that write.
const list = (content) => (Array.isArray(content) ? content : []);
const user = (text) => ({ role: 'user', content: text });
const toolResults = (messages) =>
  messages
    .flatMap(({ role, content }) => (role === 'tool' ? list(content) : []))
    .filter((part) => part.type === 'tool-result');

const REFUSED = { place: 'messages', seen: ['this-prompt'], also: ['raises'] };

export const polluting = {
  'sets cache options on the last message': {
    is: {
      5: { place: 'messages[*].providerOptions', seen: ['caller', 'later-prompts'] },
      6: { place: 'messages[*].providerOptions', seen: ['caller', 'later-prompts'] },
      7: { place: 'messages[*].providerOptions', seen: ['caller', 'later-prompts'], also: ['accumulates'] },
    },
    make:
      () =>
      ({ messages }) => {
        const last = messages.at(-1);
        last.providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }; // at
        return { messages };
      },
  },
  'adds to nested provider options of a spread copy': {
    is: { place: 'messages[*].providerOptions.app.seen', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => ({
        messages: messages.map((message) => {
          const copy = { ...message };
          if (copy.providerOptions) copy.providerOptions.app.seen = true; // at
          return copy;
        }),
      }),
  },
  'trims tool outputs in shared parts': {
    is: { place: 'messages[*].content[*].output.value', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => {
        const shorter = [...messages];
        for (const part of toolResults(shorter))
          if (part.output.type === 'text') part.output.value = part.output.value.slice(0, 4); // at
        return { messages: shorter };
      },
  },
  'deletes rows inside of tool outputs': {
    is: { place: 'messages[*].content[*].output.value.items', seen: ['later-prompts'] },
    make:
      () =>
      ({ messages }) => {
        for (const { output } of toolResults(messages)) {
          if (output.type === 'json' && output.value?.items) delete output.value.items; // at
        }
      },
  },
  'replaces the output of tool results': {
    is: { place: 'messages[*].content[*].output', seen: ['later-prompts', 'caller'] },
    make:
      () =>
      ({ messages }) => {
        for (const part of toolResults(messages))
          Object.assign(part, { output: { type: 'text', value: '[cleared]' } }); // at
      },
  },
  'pushes a part into the content of the last user message': {
    is: {
      5: { place: 'messages[*].content[*]', seen: ['caller'] },
      6: { place: 'messages[*].content[*]', seen: ['caller'] },
      7: { place: 'messages[*].content[*]', seen: ['caller'], also: ['accumulates'] },
    },
    make:
      () =>
      ({ messages }) => {
        const last = messages.findLast(({ role, content }) => role === 'user' && Array.isArray(content));
        last?.content.push({ type: 'text', text: 'be brief' }); // at
        return { messages };
      },
  },
  'appends to the last user text': {
    is: { place: 'messages[*].content', seen: ['this-prompt', 'caller'] },
    make:
      () =>
      ({ messages }) => {
        const last = messages.findLast(({ role, content }) => role === 'user' && typeof content === 'string');
        if (last) last.content += ' (be brief)'; // at
      },
  },
  'blackens the bytes of images': {
    is: { place: 'messages[*].content[*].image', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => ({
        messages: messages.map((message) => {
          for (const part of list(message.content))
            if (part.image instanceof Uint8Array) part.image.fill(0, 60); // at
          return { ...message };
        }),
      }),
  },
  'writes after an await': {
    is: { place: 'messages[*].content', seen: ['this-prompt', 'caller'] },
    make:
      () =>
      async ({ messages }) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        messages[0].content = [{ type: 'text', text: '[redacted]' }]; // at
      },
  },
  'writes from a timer': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => {
        setTimeout(() => {
          messages[0].content = 'late'; // at
        }, 3);
      },
  },
  'writes in a promise that nobody awaits': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make: () => {
      const summarize = async (text) => `summary of ${String(text).length}`;
      return async ({ messages }) => {
        summarize(messages[0].content).then((summary) => {
          messages[0].content = summary; // at
        });
        return { messages: [...messages] };
      };
    },
  },
  'writes when a getter of what it returned is read': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => ({
        get messages() {
          messages[0].content = 'by a getter'; // at
          return messages;
        },
      }),
  },
  'splices old messages out': {
    is: { place: 'messages', seen: ['this-prompt'] },
    make:
      () =>
      ({ messages }) => {
        const last = messages.findLastIndex(({ role }) => role === 'user');
        if (messages.length > 4) messages.splice(0, last); // at
      },
  },
  'reverses to find the newest': {
    // Messages out of order are refused from 6 on.
    is: { place: 'messages', seen: ['this-prompt'], 6: REFUSED, 7: REFUSED },
    make:
      () =>
      ({ messages }) => {
        const newest = messages.reverse().find(({ role }) => role === 'user'); // at
        return { system: `answer ${String(newest?.role)}` };
      },
  },
  'sorts content in place': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => ({
        messages: messages.map((message) => ({
          ...message,
          content: Array.isArray(message.content)
            ? message.content.sort((a, b) => (a.type < b.type ? 1 : -1)) // at
            : message.content,
        })),
      }),
  },
  'deletes reasoning by filtering into the same message': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => {
        for (const message of messages)
          if (message.role === 'assistant' && Array.isArray(message.content))
            message.content = message.content.filter(({ type }) => type !== 'reasoning'); // at
        return { messages };
      },
  },
  'clones the first and edits all': {
    is: { place: 'messages[*].seen', seen: ['caller'] },
    make:
      () =>
      ({ messages }) => {
        const own = [structuredClone(messages[0]), ...messages.slice(1)];
        for (const message of own) message.seen = true; // at
        return { messages: own };
      },
  },
  'writes through a proxy': {
    is: { place: 'messages[*].content', seen: ['this-prompt', 'caller'] },
    make:
      () =>
      ({ messages }) => {
        const view = new Proxy(messages[0], {
          set(target, key, value) {
            target[key] = value; // at
            return true;
          },
        });
        view.content = 'through a proxy';
      },
  },
  'defines a property': {
    is: { place: 'messages[*].content', seen: ['this-prompt', 'caller'] },
    make:
      () =>
      ({ messages }) => {
        Object.defineProperty(messages[0], 'content', { value: 'defined' }); // at
      },
  },
  'empties the list and fills it again': {
    is: { place: 'messages', seen: ['this-prompt'] },
    make:
      () =>
      ({ messages }) => {
        const kept = messages.filter(({ role }) => role !== 'assistant' && role !== 'tool');
        messages.length = 0; // at
        messages.push(...kept, user('go on')); // at
      },
  },
  'fills a slot': {
    is: { place: 'messages[*]', seen: ['this-prompt'] },
    make:
      () =>
      ({ messages }) => {
        messages.fill(user('[cut]'), 0, 1); // at
      },
  },
  'swaps two': {
    // Messages out of order are refused from 6 on.
    is: { place: 'messages', seen: ['this-prompt'], 6: REFUSED, 7: REFUSED },
    make:
      () =>
      ({ messages }) => {
        if (messages.length > 1) [messages[0], messages[1]] = [messages[1], messages[0]]; // at
      },
  },
  'edits in a generator': {
    is: { place: 'messages[*].content', seen: ['caller'] },
    make: () => {
      function* redacted(messages) {
        for (const message of messages) {
          if (typeof message.content === 'string') message.content = message.content.replaceAll('a', '*'); // at
          yield message;
        }
      }
      return ({ messages }) => ({ messages: [...redacted(messages)] });
    },
  },
  'keeps messages in a map and marks the old ones': {
    is: { place: 'messages[*].old', seen: ['caller'] },
    make: () => {
      const known = new Map();
      return ({ messages, stepNumber }) => {
        for (const message of known.values()) message.old = true; // at
        known.set(stepNumber, messages[0]);
      };
    },
  },
  'a class that trims what it saw at the last step': {
    is: { place: 'messages[*].content[*].output', seen: ['later-prompts'] },
    make: () =>
      new (class Trimmer {
        last = [];
        prepareStep({ messages }) {
          for (const part of toolResults(this.last)) part.output = { type: 'text', value: 'seen' }; // at
          this.last = [...messages];
          return {};
        }
      })(),
  },
  'writes into the records of steps': {
    is: { place: 'steps[*].response.messages[*].audited', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        for (const { response } of steps) for (const message of response.messages) message.audited = true; // at
      },
  },
  'writes into outputs of earlier steps': {
    is: { place: 'steps[*].content[*].output.result', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        for (const { content } of steps)
          for (const part of content)
            if (part.type === 'tool-result' && part.output?.result) part.output.result = 'x'; // at
      },
  },
  'pops a record of a step': {
    is: { place: 'steps', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        const last = steps.pop(); // at
        return last ? { system: String(last.finishReason) } : {};
      },
  },
  'pushes and returns the same list': {
    is: {
      5: { kind: 'harmless-write', place: 'messages[*]' },
      6: { kind: 'harmless-write', place: 'messages[*]' },
      7: { kind: 'harmless-write', place: 'messages[*]', also: ['accumulates'] },
    },
    make:
      () =>
      ({ messages }) => {
        messages.push(user('be brief')); // at
        return { messages };
      },
  },
  'returns a template that it edits later': {
    is: {
      5: { kind: 'clean' },
      6: { kind: 'clean' },
      7: { place: 'returned.messages[*].content[*].text', seen: ['later-prompts'] },
    },
    make: () => {
      const template = { role: 'user', content: [{ type: 'text', text: '' }] };
      return ({ messages, stepNumber }) => {
        template.content[0].text = `step ${stepNumber}`; // at
        return { messages: [...messages.filter((message) => message !== template), template] };
      };
    },
  },
  'two writes of two causes': {
    is: { place: 'messages[*].priority', seen: ['caller'], causes: 2 },
    make:
      () =>
      ({ messages }) => {
        messages[0].priority = 1; // at
        for (const part of toolResults(messages)) part.output = { type: 'text', value: '...' }; // at
      },
  },
  'a write with effect and one without': {
    is: {
      5: { place: 'messages[*].content', seen: ['caller'], also: ['harmless-write'], causes: 2 },
      6: { place: 'messages[*].content', seen: ['caller'], also: ['harmless-write'], causes: 2 },
      7: {
        place: 'messages[*].content',
        seen: ['caller'],
        also: ['harmless-write', 'accumulates'],
        causes: 2,
      },
    },
    make:
      () =>
      ({ messages }) => {
        messages[0].content = 'changed'; // at
        messages.push(user('x')); // at
        return { messages };
      },
  },
  'a helper writes, at one line for two callers': {
    is: { place: 'messages[*].mark', seen: ['caller'] },
    make: () => {
      const mark = (target) => {
        target.mark = true; // at
      };
      return ({ messages }) => {
        mark(messages[0]);
        for (const message of messages) for (const part of list(message.content)) mark(part);
      };
    },
  },
};

export const clean = {
  'returns nothing': () => () => undefined,
  'returns what it was given':
    () =>
    ({ messages }) => ({ messages }),
  'counts its calls': () => {
    let calls = 0;
    return () => ({ system: `call ${calls++}` });
  },
  'caches by identity': () => {
    const cache = new WeakMap();
    return ({ messages }) => ({
      messages: messages.map((message) => {
        if (!cache.has(message)) cache.set(message, { ...message, providerOptions: { app: { n: 1 } } });
        return cache.get(message);
      }),
    });
  },
  'remembers by content': () => {
    const memo = new Map();
    return ({ messages }) => ({
      messages: messages.map((message) => {
        const key = JSON.stringify(message);
        if (!memo.has(key)) memo.set(key, JSON.parse(key));
        return memo.get(key);
      }),
    });
  },
  'logs each message once': () => {
    const logged = new WeakSet();
    return ({ messages }) => {
      for (const message of messages)
        if (!logged.has(message)) (logged.add(message), console.debug(message.role));
    };
  },
  'clones and edits':
    () =>
    ({ messages }) => {
      const own = structuredClone(messages);
      for (const message of own) message.seen = true;
      return { messages: own };
    },
  'new parts with shorter outputs':
    () =>
    ({ messages }) => ({
      messages: messages.map((message) =>
        message.role === 'tool'
          ? {
              ...message,
              content: message.content.map((part) =>
                part.type === 'tool-result' ? { ...part, output: { type: 'text', value: 'short' } } : part,
              ),
            }
          : message,
      ),
    }),
  'sorts and reverses copies':
    () =>
    ({ messages }) => {
      const newest = messages.toReversed().find(({ role }) => role === 'user');
      [...messages].sort((a, b) => (a.role < b.role ? 1 : -1)).splice(0, 1);
      return { system: newest.role };
    },
  'draws random ids and the time':
    () =>
    ({ messages }) => ({
      messages: messages.map((message) => ({
        ...message,
        providerOptions: { app: { id: crypto.randomUUID(), at: Date.now(), r: Math.random() } },
      })),
    }),
  'asks a mocked service': () => {
    const fetch = async (url, { body }) => ({ json: async () => ({ url, length: body.length }) });
    return async ({ messages }) => {
      const answer = await (await fetch('https://example.com', { body: JSON.stringify(messages) })).json();
      return { system: `about ${answer.length > 0}` };
    };
  },
  'reads the environment':
    () =>
    ({ messages }) =>
      process.env.COMPACT === '1' ? { messages: messages.slice(-1) } : {},
  'blackens a copy of images': () => (options) => ({
    messages: options.messages.map((message) => ({
      ...message,
      content: Array.isArray(message.content)
        ? message.content.map((part) =>
            part.image instanceof Uint8Array ? { ...part, image: part.image.slice().fill(0, 60) } : part,
          )
        : message.content,
    })),
  }),
  'keeps what it returned in a history': () => {
    const history = [];
    return ({ messages }) => {
      const own = messages.map((message) => ({ ...message }));
      history.push(own);
      return { messages: own };
    };
  },
  'freezes copies':
    () =>
    ({ messages }) => ({ messages: Object.freeze(messages.map((message) => Object.freeze({ ...message }))) }),
  'a class with private state': () =>
    new (class Budget {
      #left = 10;
      prepareStep() {
        this.#left -= 1;
        return this.#left > 0 ? {} : { toolChoice: 'none' };
      }
    })(),
  'waits a little':
    () =>
    async ({ messages }) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return { messages: messages.map((message) => ({ ...message })) };
    },
  'reads through a proxy': () => {
    let reads = 0;
    return ({ messages }) => {
      const view = new Proxy(messages, { get: (target, key) => (reads++, Reflect.get(target, key)) });
      return { system: `${view.length}` };
    };
  },
  'yields copies': () => {
    function* numbered(messages) {
      for (const message of messages)
        yield { ...message, providerOptions: { app: { n: message.role.length } } };
    }
    return ({ messages }) => ({ messages: [...numbered(messages)] });
  },
  'picks tools and settings':
    () =>
    ({ stepNumber, steps }) => ({
      activeTools: stepNumber > 5 ? [] : undefined,
      toolChoice: steps.length > 8 ? 'none' : 'auto',
    }),
  'adds up usage in its own total': () => {
    const total = { tokens: 0 };
    return ({ steps }) => {
      total.tokens = steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0);
      return {};
    };
  },
  'writes into its own summary, kept by tool': () => {
    const byTool = new Map();
    return ({ messages }) => {
      for (const part of toolResults(messages)) {
        const known = byTool.get(part.toolName) ?? { calls: 0, last: undefined };
        known.calls++;
        known.last = part.output;
        byTool.set(part.toolName, known);
      }
      return { system: `${byTool.size} tools` };
    };
  },
  'writes and puts back':
    () =>
    ({ messages }) => {
      const { content } = messages[0];
      messages[0].content = 'for a moment';
      messages[0].content = content;
    },
};
