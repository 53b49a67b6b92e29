// Hooks of each boundary of Mastra: one that pollutes subtly, and one that does the same with new objects.
const hide = (text) => text.replace(/\S+@\S+|o/g, '*');
const textOf = (part) => (part.type === 'text' ? { ...part, text: hide(part.text) } : part);
const copied = (message) => ({
  ...message,
  content: { ...message.content, parts: message.content.parts.map(textOf) },
});
const write = (messages) => {
  for (const { content } of messages)
    for (const part of content.parts) if (part.type === 'text') part.text = hide(part.text);
};
// New messages and new lists, with the parts of the old ones.
const shallow = (messages) =>
  messages.map((message) => ({
    ...message,
    content: { ...message.content, parts: [...message.content.parts] },
  }));

// Hides in what tools returned, in new messages that share it.
const hideIn = (value) => {
  for (const [key, held] of Object.entries(value ?? {}))
    if (typeof held === 'string') value[key] = hide(held);
    else if (typeof held === 'object') hideIn(held);
};
const shortened = (messages) => {
  const made = shallow(messages);
  for (const { content } of made)
    for (const { toolInvocation } of content.parts)
      if (typeof toolInvocation?.result === 'object') hideIn(toolInvocation.result);
  return made;
};

export const boundaries = {
  processInput: {
    // What a tool returned is the caller's own.
    polluting: () => (given) => shortened(given.messages),
    clean: () => (given) => given.messages.map(copied),
  },
  processInputStep: {
    polluting: () => (given) => void shortened(given.messages),
    clean: () => (given) => ({ messages: given.messages.map(copied) }),
  },
  prepareStep: {
    polluting: () => (given) => void write(shallow(given.messages)),
    clean: () => (given) => ({ messages: given.messages.map(copied) }),
  },
  processOutputResult: {
    // Returns the list, whose messages it has written.
    polluting: () => (given) => {
      write(shallow(given.messages));
      return given.messageList;
    },
    clean: () => (given) => given.messages.map(copied),
  },
};

// Edits that are documented, or written elsewhere.
export const more = {
  processInputStep: {
    // By the methods of the list: the run goes on with it.
    documented: () => (given) => given.messageList.add([{ role: 'user', content: 'be brief' }], 'input'),
    // Through the list, whose messages the run goes on with: a handle that stays itself.
    handle: () => (given) => void write(given.messageList.get.all.db()),
  },
};

// Counts, caches by identity, draws ids and asks the clock; and returns new messages only.
export const stateful = {
  processInputStep: () => {
    let calls = 0;
    const known = new Map();
    return (given) => {
      calls++;
      for (const message of given.messages)
        if (!known.has(message)) known.set(message, `${crypto.randomUUID()} ${Math.random()} ${Date.now()}`);
      return { messages: given.messages.map(copied), modelSettings: { seed: calls + known.size } };
    };
  },
};
