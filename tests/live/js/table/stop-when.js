// Hooks for stopWhen.
export const polluting = {
  'reverses the steps to look at the last': {
    is: { place: 'steps', seen: ['steps'] },
    make:
      () =>
      ({ steps }) =>
        steps.reverse()[0].finishReason === 'never', // at
  },
  'sorts steps': {
    is: { place: 'steps', seen: ['steps'] },
    make:
      () =>
      ({ steps }) =>
        steps.sort((a, b) => b.content.length - a.content.length)[0].content.length > 50, // at
  },
  'pops the last step': {
    is: { place: 'steps' },
    make:
      () =>
      ({ steps }) => {
        const last = steps.pop(); // at
        return last.text === 'never';
      },
  },
  'marks a step as seen': {
    is: { place: 'steps[*].seen', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        steps.at(-1).seen = true; // at
        return false;
      },
  },
  'lowers inputs': {
    is: { place: 'steps[*].content[*].input.query', seen: ['next-prompt', 'steps'] },
    make:
      () =>
      ({ steps }) => {
        for (const { input } of steps.at(-1).toolCalls)
          input.query = String(input.query).toLowerCase().replaceAll('-', ' '); // at
        return false;
      },
  },
  'trims outputs in content': {
    is: { place: 'steps[*].content[*].output.result', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        for (const part of steps.at(-1).content)
          if (part.type === 'tool-result' && part.output?.result)
            part.output.result = part.output.result.slice(0, 3); // at
        return false;
      },
  },
  'empties response messages': {
    is: { place: 'steps[*].response.messages', seen: ['steps'] },
    make:
      () =>
      ({ steps }) => {
        steps.at(-1).response.messages.length = 0; // at
        return false;
      },
  },
  'clears the step before the last': {
    is: { place: 'steps[*].content[*].text', seen: ['steps'] },
    make: () => {
      let kept;
      return ({ steps }) => {
        if (kept) for (const part of kept.content) if (part.type === 'text') part.text = ''; // at
        kept = steps.at(-1);
        return false;
      };
    },
  },
  'writes from a promise': {
    is: { place: 'steps[*].content[*].input.late', seen: ['steps'] },
    make:
      () =>
      async ({ steps }) => {
        Promise.resolve().then(() => {
          for (const part of steps.at(-1).content) if (part.type === 'tool-call') part.input.late = true; // at
        });
        return false;
      },
  },
};

export const clean = {
  'never stops': () => () => false,
  'looks at the last':
    () =>
    ({ steps }) =>
      steps.at(-1).finishReason === 'never',
  'reverses a copy':
    () =>
    ({ steps }) =>
      [...steps].reverse()[0].text === 'never',
  'a budget of tokens':
    () =>
    ({ steps }) =>
      steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0) > 100,
  'counts calls': () => {
    let calls = 0;
    return () => calls++ > 30;
  },
  'has a deadline': () => {
    const end = Date.now() + 1000;
    return () => Date.now() > end;
  },
  'remembers steps': () => {
    const seen = new WeakSet();
    return ({ steps }) => {
      const fresh = steps.filter((step) => !seen.has(step));
      fresh.forEach((step) => seen.add(step));
      return fresh.length === 0;
    };
  },
  'stops at a tool':
    () =>
    ({ steps }) =>
      steps.some(({ toolCalls }) => toolCalls.some(({ toolName }) => toolName === 'run_code')),
};
