// The AI SDK, 5 to 7: generateText, streamText and ToolLoopAgent.
import { approvals, field, neutral, pairs, translated } from './ai-messages.js';
import { major, model } from './ai-model.js';

export { neutral, pairs };

export const name = 'ai';
export const packages = ['ai'];
export const supports = (version) => major(version) >= 5 && major(version) <= 7;
export const versions = ['5.0.277', '6.0.134', '7.0.173'];
export const paths = ['generate', 'stream'];
export const documentation = 'https://ai-sdk.dev/docs/agents/loop-control';

const context = ([options]) => [
  options.experimental_context,
  options.runtimeContext,
  options.toolsContext,
  options.context,
  options.abortSignal,
];

export const boundaries = {
  prepareStep: {
    when: 'before',
    first: ['messages', 'initialMessages', 'responseMessages', 'steps'],
    stay: context,
    messages: ([options]) => options.messages,
    output: (returned) => returned?.messages,
    again: ([options], messages) => [{ ...options, messages }],
    passive: () => undefined,
    mend: 'return { messages: [...] } with new messages and new parts, and leave those of the arguments as they are',
  },
  onStepFinish: {
    when: 'after',
    first: ['content', 'response'],
    stay: context,
    mend: 'copy what the callback needs: structuredClone(step.content)',
  },
  stopWhen: {
    when: 'after',
    first: ['steps'],
    passive: () => false,
    mend: 'only read the steps, and return true or false',
  },
  execute: {
    when: 'after',
    params: ['input', 'options'],
    stay: ([, options]) => context([options]),
    passive: ([, options], session) => session.outcome(options.toolCallId),
    mend: 'copy the messages before you change them: structuredClone(options.messages)',
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
      wrapGenerate: {
        when: 'before',
        first: ['params'],
        next: ['doGenerate', 'doStream'],
        passive: ([{ doGenerate }]) => doGenerate(),
      },
      wrapStream: {
        when: 'before',
        first: ['params'],
        next: ['doGenerate', 'doStream'],
        passive: ([{ doStream }]) => doStream(),
      },
    },
  },
};

/** Runs the conversation of `session` with `hook` at its boundary. */
export async function run(session, hook, sdk, version) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const world = { session, hook, sdk, version, messages: [], results: [] };
  const observed = { caller: world.messages, result: world.results, steps: [] };
  for (let turn = session.nextTurn(); turn; turn = session.nextTurn()) {
    world.messages.push(
      ...turn.messages.flatMap((message, index) => translated(message, index + session.variant)),
    );
    for (let waiting = true; waiting;) {
      const last = await call(world);
      world.results.push({ text: last.text, finishReason: last.finishReason, messages: last.messages });
      observed.steps.push(
        last.steps.map(({ content, response }) => ({ content, messages: response.messages })),
      );
      const answers = approvals(last.messages, session);
      waiting = answers.length > 0;
      if (waiting || session.hasNextTurn())
        world.messages.push(...last.messages, ...(waiting ? [{ role: 'tool', content: answers }] : []));
    }
  }
  return observed;
}

async function call({ session, hook, sdk, version, messages }) {
  const { at, path, talk, variant } = session;
  const bare = model(session, version);
  const tools = Object.fromEntries(
    session.toolNames().map((tool) => [tool, scripted(session, sdk, at === 'execute' ? hook : undefined)]),
  );
  const settings = {
    model: at === 'middleware' ? sdk.wrapLanguageModel({ model: bare, middleware: hook }) : bare,
    tools,
    maxRetries: 0,
    stopWhen: [...(at === 'stopWhen' ? [hook].flat() : []), sdk.stepCountIs(20)],
    ...(at === 'prepareStep' || at === 'onStepFinish' ? { [at]: hook } : {}),
  };
  const Agent = variant % 4 === 3 ? (sdk.ToolLoopAgent ?? sdk.Experimental_Agent) : undefined;
  const system = field(
    major(version) < 7 && !(Agent && major(version) === 6) ? 'system' : 'instructions',
    talk.instructions,
  );
  const agent = Agent && new Agent({ ...settings, ...system });
  if (path === 'generate')
    return read(
      agent
        ? await agent.generate({ messages })
        : await sdk.generateText({ ...settings, ...system, messages }),
    );
  return read(
    await streamed(
      agent
        ? await agent.stream({ messages })
        : sdk.streamText({ ...settings, ...system, messages, onError: () => {} }),
    ),
  );
}

async function streamed(result) {
  let failure;
  for await (const part of result.fullStream) if (part.type === 'error') failure ??= part;
  if (failure) throw failure.error;
  return {
    steps: await result.steps,
    text: await result.text,
    finishReason: await result.finishReason,
    response: await result.response,
    responseMessages: await result.responseMessages,
  };
}

// The messages that a caller appends: in 7 those of all steps, which before were those of the last step's response.
const read = ({ steps, text, finishReason, response, responseMessages }) => ({
  steps,
  text,
  finishReason,
  messages: responseMessages ?? response.messages,
});

function scripted(session, sdk, hook) {
  return {
    inputSchema: sdk.jsonSchema({ type: 'object' }),
    needsApproval: (_, { toolCallId }) => session.call(toolCallId)?.approval === true,
    execute: hook ?? (async (_, { toolCallId }) => session.outcome(toolCallId)),
  };
}
