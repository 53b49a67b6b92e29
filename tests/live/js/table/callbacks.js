// Callbacks of the settings and of tools that get messages, steps, chunks or inputs, beyond the boundaries that have tables of their own.
const list = (content) => (Array.isArray(content) ? content : []);
const mask = (messages) => {
  for (const { role, content } of messages)
    if (role === 'user') for (const part of list(content)) if (part.type === 'text') part.text = '***'; // at
};
const masked = (messages) =>
  messages.map((message) =>
    message.role === 'user'
      ? {
          ...message,
          content: list(message.content).map((part) =>
            part.type === 'text' ? { ...part, text: '***' } : part,
          ),
        }
      : message,
  );
const transform = (work) => () => () =>
  new TransformStream({ transform: (chunk, controller) => controller.enqueue(work(chunk)) });
const repaired = (toolCall) => ({ ...toolCall, input: `${toolCall.input}}` });
const unwrapped = (given) => (given?.toolCallId ? given.output : given);
const userText = 'messages[*].content[*].text';

/** Whose steps are called twice with what is kept: a log that is masked before it is written. */
const logging = (read) => {
  const polluting = () => {
    const log = [];
    return (event) => {
      mask(read(event));
      log.push(read(event));
    };
  };
  const clean = () => {
    const log = [];
    return (event) => void log.push(masked(read(event)));
  };
  return { polluting, clean };
};
const messagesOf = logging(({ messages }) => messages);
const ofOptions = (polluting) => (input, options) => polluting(options);

const inMessages = (name, seen) => ({
  polluting: {
    [`masks the messages of ${name}`]: {
      is: { place: userText, seen },
      shared: true,
      make: messagesOf.polluting,
    },
  },
  clean: { [`masks a copy of the messages of ${name}`]: messagesOf.clean },
});

export const boundariesOf = {
  onStart: inMessages('onStart', ['this-prompt', 'caller']),
  onStepStart: inMessages('onStepStart', ['later-prompts', 'caller']),
  experimental_onStart: inMessages('experimental_onStart', ['this-prompt', 'caller']),
  experimental_onStepStart: inMessages('experimental_onStepStart', ['later-prompts', 'caller']),
  onToolExecutionStart: inMessages('onToolExecutionStart', ['next-prompt', 'caller']),
  experimental_onToolCallStart: inMessages('experimental_onToolCallStart', ['next-prompt', 'caller']),
  experimental_onToolCallFinish: inMessages('experimental_onToolCallFinish', ['next-prompt', 'caller']),
  prepareCall: {
    polluting: {
      'masks the messages of a call in place': {
        is: { place: userText, seen: ['caller'] },
        shared: true,
        make: () => (options) => {
          mask(options.messages);
          return { ...options, messages: [...options.messages] };
        },
      },
      'sorts what a call was given': {
        is: { place: 'messages', seen: ['caller'] },
        make: () => (options) => {
          options.messages.reverse(); // at
          options.messages.reverse();
          options.messages.unshift({ role: 'user', content: 'Answer in English.' }); // at
          return options;
        },
      },
    },
    clean: {
      'masks new messages of a call': () => (options) => ({
        ...options,
        messages: options.messages.map((message) =>
          message.role === 'user' ? { ...message, content: '***' } : message,
        ),
      }),
      'sets a temperature': () => (options) => ({ ...options, temperature: 0.2 }),
    },
  },
  onFinish: {
    polluting: {
      'takes large outputs out of the steps before it saves them': {
        is: { place: 'steps[*].content[*].output.items', seen: ['steps'] },
        make:
          () =>
          ({ steps }) => {
            for (const { content } of steps)
              for (const part of content)
                if (part.type === 'tool-result' && part.output?.items) delete part.output.items; // at
          },
      },
      'adds an id to the messages that it saves': {
        is: { place: 'steps[*].response.messages[*].id', seen: ['result', 'caller'] },
        make: () => {
          const saved = [];
          return ({ response }) => {
            for (const message of response.messages) message.id ??= crypto.randomUUID(); // at
            saved.push(...response.messages);
          };
        },
      },
    },
    clean: {
      'saves copies without large outputs': () => {
        const saved = [];
        return ({ steps }) =>
          void saved.push(
            ...steps.flatMap(({ content }) =>
              content.map((part) =>
                part.type === 'tool-result' ? { ...part, output: '(large)' } : { ...part },
              ),
            ),
          );
      },
      'keeps the messages themselves': () => {
        const saved = [];
        return ({ response }) => void saved.push(...response.messages);
      },
    },
  },
  onEnd: {
    polluting: {
      'signs the last text': {
        is: { place: 'steps[*].content[*].text', places: ['steps[*].content[*].text', 'content[*].text'] },
        make:
          () =>
          ({ content }) => {
            for (const part of content) if (part.type === 'text') part.text += ' (checked)'; // at
          },
      },
    },
    clean: {
      'reads the usage':
        () =>
        ({ usage, steps }) => [usage, steps.length],
    },
  },
  onStepEnd: {
    polluting: {
      'hides inputs of calls': {
        is: { place: 'content[*].input.query', seen: ['next-prompt', 'steps'] },
        make:
          () =>
          ({ content }) => {
            for (const part of content) if (part.type === 'tool-call') part.input.query = '***'; // at
          },
      },
    },
    clean: {
      'reads calls':
        () =>
        ({ toolCalls }) =>
          toolCalls.map(({ toolName }) => toolName),
    },
  },
  onToolExecutionEnd: {
    polluting: {
      'cuts the output down': {
        is: { place: 'toolOutput.output.items', seen: ['next-prompt', 'steps'] },
        make:
          () =>
          ({ toolOutput }) => {
            if (toolOutput.output?.items) toolOutput.output.items.length = 0; // at
          },
      },
    },
    clean: { 'measures the output': () => (event) => JSON.stringify(event.toolOutput).length },
  },
  onChunk: {
    polluting: {
      'hides text in the chunks that it logs': {
        is: { place: 'chunk.text', seen: ['next-prompt', 'caller', 'observers'] },
        make: () => {
          const log = [];
          return ({ chunk }) => {
            if (chunk.type === 'text-delta') chunk.text = chunk.text.replace(/\w/g, '*'); // at
            log.push(chunk);
          };
        },
      },
      'normalizes inputs of calls': {
        is: { place: 'chunk.input.query', seen: ['next-prompt', 'steps'] },
        make:
          () =>
          ({ chunk }) => {
            if (chunk.type === 'tool-call') chunk.input.query = 'normalized'; // at
          },
      },
    },
    clean: {
      'logs copies of chunks': () => {
        const log = [];
        return ({ chunk }) => void log.push({ ...chunk, text: '***' });
      },
    },
  },
  experimental_transform: {
    polluting: {
      'edits the input of a call and passes the chunk on': {
        is: { place: 'chunk.input.query', seen: ['steps'] },
        make: transform((chunk) => {
          if (chunk.type === 'tool-call') chunk.input.query = 'edited'; // at
          return chunk;
        }),
      },
      'edits text and passes the chunk on': {
        is: { kind: 'harmless-write', place: 'chunk.text' },
        make: transform((chunk) => {
          if (chunk.type === 'text-delta') chunk.text = chunk.text.toUpperCase(); // at
          return chunk;
        }),
      },
      'edits the chunk before when the next one comes': {
        is: { place: 'chunk.input.query', seen: ['next-prompt'] },
        make: () => () => {
          let last;
          return new TransformStream({
            transform(chunk, controller) {
              if (last?.type === 'tool-call') last.input.query = 'late'; // at
              last = chunk;
              controller.enqueue(chunk);
            },
          });
        },
      },
    },
    clean: {
      'passes new chunks on': transform((chunk) =>
        chunk.type === 'text-delta' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk,
      ),
      'leaves chunks out': () => () =>
        new TransformStream({
          transform(chunk, controller) {
            if (!chunk.type.startsWith('reasoning')) controller.enqueue(chunk);
          },
        }),
    },
  },
  experimental_repairToolCall: {
    polluting: {
      'masks the messages before it asks for a repair': {
        is: { place: userText, seen: ['next-prompt', 'caller'] },
        shared: true,
        make:
          () =>
          async ({ toolCall, messages }) => {
            mask(messages);
            return repaired(toolCall);
          },
      },
      'repairs the call in place': {
        is: { kind: 'harmless-write', place: 'toolCall.input' },
        make:
          () =>
          async ({ toolCall }) => {
            toolCall.input = `${toolCall.input}}`; // at
            return toolCall;
          },
      },
      'adds the error to the messages': {
        is: {
          5: { kind: 'harmless-write', place: 'messages[*]' },
          6: { kind: 'harmless-write', place: 'messages[*]' },
          7: { place: 'messages[*]', seen: ['next-prompt'] },
        },
        make:
          () =>
          async ({ toolCall, messages, error }) => {
            messages.push({ role: 'user', content: error.message }); // at
            return repaired(toolCall);
          },
      },
    },
    clean: {
      'returns a new call':
        () =>
        async ({ toolCall, messages }) =>
          masked(messages).length > 0 ? repaired(toolCall) : null,
      'gives up': () => async () => null,
    },
  },
  needsApproval: {
    polluting: {
      'masks the messages that it looks at': {
        is: { place: `options.${userText}`, seen: ['next-prompt', 'caller'] },
        shared: true,
        make: () => ofOptions(messagesOf.polluting()),
      },
      'normalizes the input': {
        is: { place: 'input.query', seen: ['next-prompt', 'steps'] },
        make: () => (input) => {
          input.query = input.query.toLowerCase(); // at
          input.query = `${input.query}.`; // at
          return false;
        },
      },
    },
    clean: {
      'looks at copies': () => ofOptions(messagesOf.clean()),
      'asks for long queries': () => (input) => input.query?.length > 40,
    },
  },
  onInputAvailable: {
    polluting: {
      'normalizes the input that it logs': {
        is: { place: 'options.input.query', seen: ['next-prompt', 'steps'] },
        make:
          () =>
          ({ input }) => {
            input.query = `${input.query} `.toUpperCase(); // at
          },
      },
    },
    clean: {
      'logs a copy of the input':
        () =>
        ({ input }) => ({ ...input, query: '***' }),
    },
  },
  toModelOutput: {
    polluting: {
      'cuts the output that the steps hold': {
        is: {
          place: 'options.output.items',
          places: ['options.output.items', 'options.items'],
          seen: ['steps'],
        },
        make: () => (given) => {
          const output = unwrapped(given);
          if (output?.items) output.items = output.items.slice(0, 0); // at
          return { type: 'json', value: output ?? null };
        },
      },
    },
    clean: {
      'returns a cut copy': () => (given) => {
        const output = unwrapped(given);
        return { type: 'json', value: output?.items ? { ...output, items: [] } : (output ?? null) };
      },
    },
  },
};
