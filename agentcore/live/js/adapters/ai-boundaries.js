// Where hooks of the AI SDK are called, and with what. Callbacks that get neither messages nor objects of the run (onError, onAbort,
// experimental_download) are no boundaries.
const context = ['experimental_context', 'runtimeContext', 'toolsContext', 'context', 'abortSignal'];
const settings = [...context, 'model', 'tools', 'output', 'experimental_output'];
const wrapping = { when: 'before', first: ['params'], next: ['doGenerate', 'doStream'] };
const onlyRead = (first) => ({
  when: 'after',
  first,
  stay: settings,
  mend: `copy what the callback needs: structuredClone(event.${first[0]})`,
});

const repaired = ({ toolCall }) => {
  try {
    return { ...toolCall, input: JSON.stringify(JSON.parse(`${toolCall.input}}`)) };
  } catch {
    return null;
  }
};
const ofTool = { when: 'after', params: ['input', 'options'], stay: context };
const messagesOfTool = 'copy the messages before you change them: structuredClone(options.messages)';
const step = onlyRead(['content', 'response']);
const ending = onlyRead(['steps', 'content', 'response']);
const starting = { ...onlyRead(['messages', 'steps']), when: 'before' };
const ofCall = onlyRead(['toolCall', 'messages']);
const chunks = { ...onlyRead(['chunk']), paths: ['stream'] };

const repairing = {
  when: 'after',
  first: ['toolCall', 'messages'],
  stay: ['tools', 'error'],
  passive: ([options]) => repaired(options),
  mend: 'return a new call: { ...toolCall, input: ... }, and leave the messages as they are',
};

export const boundaries = {
  prepareStep: {
    when: 'before',
    first: ['messages', 'initialMessages', 'responseMessages', 'steps'],
    stay: context,
    messages: ([options]) => options.messages,
    output: (returned) => returned?.messages,
    again: ([options], again) => [{ ...options, messages: again }],
    mend: 'return { messages: [...] } with new messages and new parts, and leave those of the arguments as they are',
  },
  onStepFinish: { ...step, stay: context },
  stopWhen: {
    when: 'after',
    first: ['steps'],
    passive: () => false,
    list: (conditions) => async (options) => {
      const met = await Promise.all(conditions.map((condition) => condition(options)));
      return met.includes(true);
    },
    mend: 'only read the steps, and return true or false',
  },
  execute: {
    ...ofTool,
    passive: ([, options], session) => session.outcome(options.toolCallId),
    mend: messagesOfTool,
  },
  middleware: {
    when: 'before',
    mend: 'return new params with a new prompt: { ...params, prompt: params.prompt.map(...) }',
    methods: {
      transformParams: {
        when: 'before',
        first: ['params'],
        messages: ([{ params }]) => params.prompt,
        output: (returned) => returned?.prompt,
        passive: ([{ params }]) => params,
      },
      wrapGenerate: { ...wrapping, passive: ([{ doGenerate }]) => doGenerate() },
      wrapStream: { ...wrapping, passive: ([{ doStream }]) => doStream() },
    },
  },
  prepareCall: {
    majors: [6, 7],
    when: 'before',
    first: ['messages', 'prompt'],
    stay: settings,
    messages: ([options]) => options.messages,
    output: (returned) => returned?.messages,
    passive: ([options]) => options,
    mend: 'return new settings with new messages: { ...options, messages: options.messages.map(...) }',
  },
  onFinish: ending,
  onEnd: { ...ending, majors: [7] },
  onStepEnd: { ...step, stay: context, majors: [7] },
  onStart: { ...starting, majors: [7] },
  onStepStart: { ...starting, majors: [7] },
  experimental_onStart: { ...starting, majors: [6, 7] },
  experimental_onStepStart: { ...starting, majors: [6, 7] },
  onToolExecutionStart: { ...ofCall, majors: [7] },
  onToolExecutionEnd: { ...ofCall, majors: [7] },
  experimental_onToolCallStart: { ...ofCall, majors: [6, 7] },
  experimental_onToolCallFinish: { ...ofCall, majors: [6, 7] },
  onChunk: chunks,
  experimental_transform: {
    ...chunks,
    first: [],
    stay: ['tools'],
    passive: () => new TransformStream(),
    mend: 'enqueue new chunks: controller.enqueue({ ...chunk, text: ... })',
  },
  repairToolCall: { ...repairing, majors: [7] },
  experimental_repairToolCall: repairing,
  needsApproval: {
    majors: [6, 7],
    ...ofTool,
    passive: ([, { toolCallId }], session) => session.call(toolCallId)?.approval === true,
    mend: messagesOfTool,
  },
  onInputAvailable: { ...ofTool, params: ['options'], mend: messagesOfTool },
  toModelOutput: {
    ...ofTool,
    params: ['options'],
    passive: ([given]) => ({ type: 'json', value: given?.output === undefined ? given : given.output }),
    mend: 'return a new output: { type: "json", value: { ...output, ... } }',
  },
};

/** Boundaries that lie at a tool and not in the settings. */
export const atTool = new Set(['execute', 'needsApproval', 'onInputAvailable', 'toModelOutput']);
/** Boundaries whose hooks meet the chunks of a stream, which the caller reads, too. */
export const atChunks = new Set(['onChunk', 'experimental_transform']);
