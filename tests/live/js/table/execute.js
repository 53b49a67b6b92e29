// Tools: what execute does with its input and with options.messages.
const list = (content) => (Array.isArray(content) ? content : []);

export const polluting = {
  'pushes to messages': {
    is: {
      5: { kind: 'harmless-write', place: 'options.messages[*]' },
      6: { place: 'options.messages[*]', seen: ['caller'] },
      7: { place: 'options.messages[*]', seen: ['next-prompt'] },
    },
    make:
      () =>
      async (input, { messages }) => {
        messages.push({ role: 'user', content: 'from a tool' }); // at
        return { ok: true };
      },
  },
  'pops messages': {
    is: {
      5: { kind: 'harmless-write', place: 'options.messages' },
      6: { place: 'options.messages', seen: ['caller'] },
      7: { place: 'options.messages' },
    },
    make:
      () =>
      async (input, { messages }) => {
        messages.pop(); // at
        return { ok: true };
      },
  },
  'edits texts of the user': {
    is: { place: 'options.messages[*].content', seen: ['next-prompt', 'caller'] },
    make:
      () =>
      async (input, { messages }) => {
        for (const message of messages)
          if (typeof message.content === 'string') message.content = message.content.toUpperCase(); // at
        return { ok: true };
      },
  },
  'edits parts': {
    is: { place: 'options.messages[*].content[*].text', seen: ['next-prompt', 'caller'] },
    make:
      () =>
      async (input, { messages }) => {
        for (const { content } of messages)
          for (const part of list(content)) if (part.type === 'text') part.text = '***'; // at
        return { ok: true };
      },
  },
  'normalizes its input in place': {
    is: { place: 'input.query', seen: ['next-prompt', 'steps'] },
    make: () => async (input) => {
      input.query = String(input.query).trim().toUpperCase(); // at
      return { ok: true };
    },
  },
  'adds a default to nested input': {
    is: { place: 'input.options.limit', seen: ['next-prompt', 'steps'] },
    make: () => async (input) => {
      if (input.options) input.options.limit = 10; // at
      return { ok: true };
    },
  },
  'deletes from its input': {
    is: { place: 'input.query', seen: ['next-prompt', 'steps'] },
    make: () => (input) => {
      delete input.query; // at
      return { ok: true };
    },
  },
  'returns one object and edits it at the next call': {
    is: { place: 'returned.calls', seen: ['steps'] },
    make: () => {
      const state = { calls: 0 };
      return async () => {
        state.calls += 1; // at
        return state;
      };
    },
  },
  'returns a cached list and pushes to it later': {
    is: { place: 'returned.notes[*]', seen: ['steps'] },
    make: () => {
      const notes = [];
      return async ({ query }) => {
        notes.push(query); // at
        return { notes };
      };
    },
  },
  'edits what it returned, later': {
    is: { place: 'returned.status', seen: ['steps'] },
    make: () => () => {
      const result = { status: 'pending' };
      setTimeout(() => {
        result.status = 'done'; // at
      }, 3);
      return result;
    },
  },
  'writes to messages after it returned': {
    is: { place: 'options.messages[*].content', seen: ['next-prompt', 'caller'] },
    make:
      () =>
      async (input, { messages }) => {
        setTimeout(() => {
          messages[0].content = 'late'; // at
        }, 3);
        return { ok: true };
      },
  },
  'sorts the content of messages': {
    is: { place: 'options.messages[*].content', seen: ['next-prompt', 'caller'] },
    make:
      () =>
      (input, { messages }) => {
        for (const { content } of messages) list(content).reverse(); // at
        return 'ok';
      },
  },
  'marks messages with options': {
    is: { place: 'options.messages[*].providerOptions', seen: ['caller'] },
    make:
      () =>
      (input, { messages }) => {
        messages[0].providerOptions = { app: { used: true } }; // at
        return 'ok';
      },
  },
  'an async generator that writes to messages': {
    is: { place: 'options.messages[*].content', seen: ['next-prompt', 'caller'] },
    make: () =>
      async function* (input, { messages }) {
        yield { status: 'working' };
        messages[0].content = 'by a generator'; // at
        yield { status: 'done' };
      },
  },
};

export const clean = {
  'returns a fresh result': () => async (input) => ({ echoed: JSON.stringify(input) }),
  'returns a cached result': () => {
    const cache = new Map();
    return async (input) => {
      const key = JSON.stringify(input);
      if (!cache.has(key)) cache.set(key, { result: key.length });
      return cache.get(key);
    };
  },
  counts: () => {
    let calls = 0;
    return () => ({ call: calls++ });
  },
  'reads the messages':
    () =>
    async (input, { messages }) => ({
      messages: messages.length,
      roles: messages.map(({ role }) => role).join(),
    }),
  'returns its input': () => (input) => input,
  'returns messages as they are':
    () =>
    (input, { messages }) => ({ context: messages.slice(-1) }),
  'edits a clone':
    () =>
    async ({ query, ...rest }, { messages }) => {
      const own = structuredClone(messages);
      for (const message of own) message.seen = true;
      return { query: String(query).trim(), ...rest, seen: own.length };
    },
  'a generator of states': () =>
    async function* () {
      yield { status: 'working' };
      yield { status: 'done' };
    },
  'random ids and clocks': () => async () => ({ id: crypto.randomUUID(), at: new Date().toISOString() }),
  'a class': () =>
    new (class Tool {
      #count = 0;
      execute() {
        return { n: this.#count++ };
      }
    })(),
};
