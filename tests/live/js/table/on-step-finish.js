// Hooks for onStepFinish.
const results = (content) => content.filter(({ type }) => type === 'tool-result');

export const polluting = {
  'pushes into content': {
    is: { place: 'content[*]', seen: ['steps'] },
    make:
      () =>
      ({ content }) => {
        content.push({ type: 'text', text: '(logged)' }); // at
      },
  },
  'shortens its texts': {
    is: { place: 'content[*].text', seen: ['steps'] },
    make:
      () =>
      ({ content }) => {
        for (const part of content) if (part.type === 'text') part.text = part.text.slice(0, 6); // at
      },
  },
  'clears large outputs once they are logged': {
    is: { place: 'content[*].output.result', seen: ['steps'] },
    make:
      () =>
      ({ toolResults }) => {
        for (const result of toolResults) if (result.output?.result) result.output.result = '[logged]'; // at
      },
  },
  'redacts inputs of calls': {
    is: { place: 'content[*].input.query', seen: ['next-prompt', 'steps'] },
    make:
      () =>
      ({ toolCalls }) => {
        for (const call of toolCalls) if (call.input.query) call.input.query = '***'; // at
      },
  },
  'replaces whole outputs': {
    is: { place: 'content[*].output', seen: ['steps'] },
    make:
      () =>
      ({ content }) => {
        for (const part of results(content)) part.output = 'gone'; // at
      },
  },
  'pops response messages': {
    is: { place: 'response.messages', seen: ['steps'] },
    make:
      () =>
      ({ response }) => {
        response.messages.pop(); // at
      },
  },
  'marks response messages': {
    is: { place: 'response.messages[*].logged', seen: ['steps'] },
    make:
      () =>
      ({ response }) => {
        for (const message of response.messages) message.logged = true; // at
      },
  },
  'edits the content of response messages': {
    is: { place: 'response.messages[*].content[*].text', seen: ['steps'] },
    make:
      () =>
      ({ response }) => {
        for (const { content } of response.messages)
          if (Array.isArray(content)) for (const part of content) if (part.type === 'text') part.text = 'x'; // at
      },
  },
  'edits the step before': {
    is: {
      places: ['content[*].output.items', 'response.messages[*].content[*].output.value.items'],
      seen: ['steps'],
    },
    make: () => {
      let before;
      return (step) => {
        for (const part of results(before?.content ?? []))
          if (part.output?.items) part.output.items.length = 0; // at
        before = step;
      };
    },
  },
  'writes later': {
    is: { place: 'content[*].output.result', seen: ['steps'] },
    make:
      () =>
      async ({ content }) => {
        setTimeout(() => {
          for (const part of results(content)) if (part.output?.result) part.output.result = 'late'; // at
        }, 2);
      },
  },
  'sorts nested lists': {
    is: { place: 'content[*].output.items', seen: ['steps'] },
    make:
      () =>
      ({ content }) => {
        for (const part of results(content)) part.output?.items?.reverse(); // at
      },
  },
  'deletes inputs': {
    is: { place: 'content[*].input.options', seen: ['next-prompt', 'steps'] },
    make:
      () =>
      ({ content }) => {
        for (const part of content) if (part.type === 'tool-call') delete part.input.options; // at
      },
  },
  'adds nested provider options': {
    is: { place: 'response.messages[*].providerOptions', seen: ['steps'] },
    make:
      () =>
      ({ response }) => {
        for (const message of response.messages) message.providerOptions = { app: { logged: true } }; // at
      },
  },
  'async, after an await': {
    is: { place: 'content[*].output.result', seen: ['steps'] },
    make:
      () =>
      async ({ content }) => {
        await null;
        for (const part of results(content)) if (part.output?.result) part.output.result += '!'; // at
      },
  },
};

export const clean = {
  logs: () => (step) => console.debug(step.text, step.toolCalls.length),
  'keeps a clone': () => {
    const kept = [];
    return ({ content }) => {
      const own = structuredClone(content);
      for (const part of results(own)) part.output = 'gone';
      kept.push(own);
    };
  },
  'keeps references': () => {
    const kept = [];
    return (step) => void kept.push(step, step.content, step.response);
  },
  'counts by tool': () => {
    const counts = new Map();
    return ({ toolCalls }) => {
      for (const { toolName } of toolCalls) counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
    };
  },
  'sums usage': () => {
    let total = 0;
    return ({ usage }) => {
      total += usage.totalTokens ?? 0;
    };
  },
  'maps to new objects':
    () =>
    async ({ content }) => {
      const records = content.map((part) => ({ ...part, at: Date.now() }));
      records.reverse();
      await null;
    },
  'writes JSON': () => {
    const lines = [];
    return ({ response }) =>
      void lines.push(JSON.stringify({ id: crypto.randomUUID(), messages: response.messages }));
  },
  'a class with listeners': () =>
    new (class Tracker {
      seen = new WeakSet();
      onStepFinish(step) {
        this.seen.add(step);
      }
    })(),
};
