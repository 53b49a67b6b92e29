// Hooks of each boundary of the OpenAI Agents SDK: one that pollutes subtly, and one that does the same with new objects.
const hide = (text) => text.replace(/\S+@\S+|o/g, '*');
const partsOf = ({ content }) => (Array.isArray(content) ? content : []);
const write = (items) => {
  for (const item of items)
    for (const part of partsOf(item)) if (typeof part.text === 'string') part.text = hide(part.text);
};
const copied = (item) =>
  Array.isArray(item.content)
    ? {
        ...item,
        content: item.content.map((part) =>
          typeof part.text === 'string' ? { ...part, text: hide(part.text) } : part,
        ),
      }
    : item;

export const boundaries = {
  callModelInputFilter: {
    // The filter is given deep copies, and what it returns is copied: nobody sees a write.
    verdict: 'note',
    polluting:
      () =>
      ({ modelData }) => {
        write(modelData.input);
        return modelData;
      },
    clean:
      () =>
      ({ modelData }) => ({ ...modelData, input: modelData.input.map(copied) }),
  },
  sessionInputCallback: {
    polluting: () => (history, input) => {
      write(history);
      return [...history, ...input];
    },
    clean: () => (history, input) => [...history, ...input],
  },
};

// Counts, caches by identity, draws ids and asks the clock; and returns new items only.
export const stateful = {
  callModelInputFilter: () => {
    let calls = 0;
    const known = new Map();
    return ({ modelData }) => {
      calls++;
      for (const item of modelData.input)
        if (!known.has(item)) known.set(item, `${crypto.randomUUID()} ${Math.random()} ${Date.now()}`);
      const told = { type: 'message', role: 'user', content: `${calls} ${[...known.values()]}` };
      return { ...modelData, input: [...modelData.input, told] };
    };
  },
};
