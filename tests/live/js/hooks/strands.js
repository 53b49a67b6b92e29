// Hooks of each boundary of Strands Agents: one that pollutes subtly, and one that does the same with new objects.
import { Message, TextBlock } from '@strands-agents/sdk';

const hide = (text) => text.replace(/\S+@\S+|o/g, '*');
const write = (messages) => {
  for (const { content } of messages)
    for (const block of content) if (block.type === 'textBlock') block.text = hide(block.text);
};
const copied = ({ role, content }) =>
  new Message({
    role,
    content: content.map((block) => (block.type === 'textBlock' ? new TextBlock(hide(block.text)) : block)),
  });

export const boundaries = {
  'InvokeModelStage.Input': {
    // The context's messages are copies; those of the agent are not.
    polluting: () => (context) => {
      write([...context.agent.messages]);
      return context;
    },
    clean: () => (context) => ({ ...context, messages: context.messages.map(copied) }),
  },
  'ExecuteToolStage.Input': {
    polluting: () => (context) => {
      write(context.agent.messages.slice(0, 1));
      return context;
    },
    clean: () => (context) => ({
      ...context,
      toolUse: { ...context.toolUse, input: { ...context.toolUse.input, checked: true } },
    }),
  },
  AgentStreamStage: {
    polluting: () =>
      async function* (context, next) {
        write(context.args);
        return yield* next(context);
      },
    clean: () =>
      async function* (context, next) {
        return yield* next({ ...context, args: context.args.map(copied) });
      },
  },
  BeforeModelCallEvent: {
    polluting: () => (event) => void write(event.agent.messages),
    // Puts new messages into the list, in the place of the old ones.
    clean: () => (event) => {
      event.agent.messages.splice(0, event.agent.messages.length, ...event.agent.messages.map(copied));
    },
  },
  AfterModelCallEvent: {
    polluting: () => (event) => void write(event.stopData ? [event.stopData.message] : []),
    clean: () => (event) => void JSON.stringify(event),
  },
};

export const more = {
  'InvokeModelStage.Input': {
    // The stage is given deep copies.
    harmless: () => (context) => {
      write(context.messages);
      return context;
    },
    handle: () => (context) => {
      write(context.agent.messages);
      return context;
    },
  },
  BeforeModelCallEvent: {
    documented: () => {
      let calls = 0;
      return (event) => {
        calls++;
        if (calls > 3) event.cancel = 'enough';
      };
    },
    handle: () => (event) => void write(event.agent.messages),
  },
};

// Counts, caches by identity, draws ids and asks the clock; and returns new messages only.
export const stateful = {
  'InvokeModelStage.Input': () => {
    let calls = 0;
    const known = new Map();
    return (context) => {
      calls++;
      for (const message of context.messages)
        if (!known.has(message)) known.set(message, `${crypto.randomUUID()} ${Math.random()} ${Date.now()}`);
      const told = new Message({ role: 'user', content: [new TextBlock(`${calls} ${[...known.values()]}`)] });
      return { ...context, messages: [...context.messages, told] };
    };
  },
};
