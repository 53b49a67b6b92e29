// Hooks of each boundary of LangChain in JavaScript: one that pollutes subtly, and one that does the same with new objects.
import { AIMessage, HumanMessage, ToolMessage } from 'langchain';

const hide = (text) => text.replace(/\S+@\S+|o/g, '*');
const partsOf = ({ content }) => (Array.isArray(content) ? content : []);
const write = (messages) => {
  for (const message of messages)
    for (const part of partsOf(message)) if (part.type === 'text') part.text = hide(part.text);
};
const types = { human: HumanMessage, ai: AIMessage, tool: ToolMessage };
const copied = (message) => {
  const { content, ...rest } = message.lc_kwargs;
  const parts = Array.isArray(content)
    ? content.map((part) => (part.type === 'text' ? { ...part, text: hide(part.text) } : part))
    : content;
  const Message = types[message.getType()];
  return Message ? new Message({ ...rest, id: message.id, content: parts }) : message;
};

export const boundaries = {
  beforeModel: {
    polluting: () => (state) => void write(state.messages),
    clean: () => (state) => ({ messages: state.messages.map(copied) }),
  },
  afterModel: {
    polluting: () => (state) => {
      for (const call of state.messages.at(-1).tool_calls ?? []) call.args.checked = true;
    },
    clean: () => (state) => ({ messages: [copied(state.messages.at(-1))] }),
  },
  wrapModelCall: {
    // A new list, with the messages of the state.
    polluting: () => (request, handler) => {
      const messages = [...request.messages];
      write(messages);
      return handler({ ...request, messages });
    },
    clean: () => (request, handler) => handler({ ...request, messages: request.messages.map(copied) }),
  },
  wrapToolCall: {
    polluting: () => (request, handler) => {
      write(request.state.messages);
      return handler(request);
    },
    clean: () => async (request, handler) => {
      const args = { ...request.toolCall.args, checked: true };
      return await handler({ ...request, toolCall: { ...request.toolCall, args } });
    },
  },
};

export const more = {
  wrapToolCall: {
    // A call is the tool's own copy.
    harmless: () => async (request, handler) => {
      request.toolCall.name = `${request.toolCall.name}`;
      request.toolCall.seen = true;
      return await handler(request);
    },
  },
};

// Counts, caches by identity, draws ids and asks the clock; and calls on with new messages only.
export const stateful = {
  wrapModelCall: () => {
    let calls = 0;
    const known = new Map();
    return (request, handler) => {
      calls++;
      for (const message of request.messages)
        if (!known.has(message)) known.set(message, `${crypto.randomUUID()} ${Math.random()} ${Date.now()}`);
      const told = new HumanMessage(`${calls} ${[...known.values()]}`);
      return handler({ ...request, messages: [...request.messages, told] });
    };
  },
};
