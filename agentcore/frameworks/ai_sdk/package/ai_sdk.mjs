// What every driver for the `ai` package shares: programs (spec/program-format.md) on its own generateText and streamText.
import { moments, serve } from './lines.mjs';
import { deepFreeze, Ops, plain } from './ops.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
const count = () => ({ total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined });
const usage = () => ({ inputTokens: count(), outputTokens: { total: 1, text: undefined, reasoning: undefined } });
const describe = (error) => (error instanceof Error ? { name: error.name, message: error.message } : { name: 'Error', message: String(error) });

// Ids that the package draws. It also keys running tools by them, so they differ; they are left out of traces.
const drawn = new Set();

function generateId() {
  const id = `drawn-${drawn.size}-${Math.random()}`;
  drawn.add(id);
  return id;
}

// How long things took is drawn, too.
const isPerformance = (value) => value !== null && typeof value === 'object' && 'stepTimeMs' in value;
const show = (value) => plain(value, { drawn: { has: (inside) => drawn.has(inside) || isPerformance(inside) } });

class Recording {
  constructor(sdk, program) {
    this.sdk = sdk;
    this.program = program;
    this.steps = [];
    this.approvals = [];
    this.modelCalls = 0;
    this.ops = new Ops({ makeModel: (id) => this.model(id) });
    this.messages = structuredClone(program.messages);
    if (program.frozen) deepFreeze(this.messages);
    this.ops.kept.caller = this.messages;
  }

  get step() {
    return this.steps.at(-1);
  }

  hook(name, argument) {
    const index = this.steps.length - 1;
    return this.ops.run(this.program.hooks?.[name]?.[index], argument, `step ${index}, ${name}`);
  }

  prepareStep(argument) {
    const { stepNumber, steps, messages } = argument;
    this.steps.push({ step: this.steps.length, prepareStep: show({ stepNumber, steps: steps.length, messages }), tools: [] });
    return this.hook('prepareStep', argument);
  }

  onStepFinish(result) {
    this.step.onStepFinish = show({ messages: result.response.messages, content: result.content });
    this.hook('onStepFinish', result);
  }

  // What a scripted model was given, and what it answers.
  answer(id, options) {
    Object.assign(this.step, { model: id, prompt: show(options.prompt) });
    this.hook('model', options);
    const parts = structuredClone(this.program.script[this.modelCalls++] ?? []);
    const called = parts.some((part) => part.type === 'tool-call');
    const finishReason = { unified: called ? 'tool-calls' : 'stop', raw: undefined };
    return { parts, finishReason };
  }

  model(id) {
    const recording = this;
    return {
      specificationVersion: this.sdk.specificationVersion,
      provider: 'scripted',
      modelId: id,
      supportedUrls: { '*/*': [/.*/] },
      async doGenerate(options) {
        const { parts, finishReason } = recording.answer(id, options);
        return { content: parts.map(generated), finishReason, usage: usage(), warnings: [] };
      },
      async doStream(options) {
        const { parts, finishReason } = recording.answer(id, options);
        const chunks = [{ type: 'stream-start', warnings: [] }, ...parts.flatMap(streamed), { type: 'finish', finishReason, usage: usage() }];
        return { stream: new ReadableStream({ start: (controller) => { chunks.forEach((chunk) => controller.enqueue(chunk)); controller.close(); } }) };
      },
    };
  }

  tools() {
    const entries = Object.entries(this.program.tools ?? {});
    return this.program.tools && Object.fromEntries(entries.map(([name, spec]) => [name, this.tool(name, spec)]));
  }

  tool(name, spec) {
    const shared = structuredClone(spec.output);
    const outputs = { shared: () => shared, input: (input) => input, fresh: () => structuredClone(spec.output) };
    const execute = async (input, { toolCallId, messages, experimental_context, context }) => {
      const calls = this.step ? this.step.tools : this.approvals;
      calls.push(show({ toolName: name, toolCallId, input, messages }));
      const argument = { input, messages, output: outputs[spec.returns ?? 'fresh'](input), experimental_context, context };
      try {
        this.ops.run(spec.mutate, argument, `tool ${name}, mutate`);
        this.hook('execute', argument);
        if (spec.error !== undefined) throw new Error(spec.error);
      } finally {
        if (spec.takes) await moments(spec.takes);
      }
      return argument.output;
    };
    return {
      inputSchema: this.sdk.jsonSchema({ type: 'object' }),
      ...(spec.needsApproval === undefined ? {} : { needsApproval: spec.needsApproval }),
      ...(spec.noExecute ? {} : { execute }),
    };
  }

  settings() {
    const { options, system, maxSteps = 20 } = this.program;
    return {
      ...structuredClone(options),
      ...(system === undefined ? {} : { system: structuredClone(system) }),
      model: this.model(this.program.model ?? 'model'),
      messages: this.messages,
      tools: this.tools(),
      stopWhen: [(argument) => { this.hook('stopWhen', argument); return false; }, this.sdk.stepCountIs(maxSteps)],
      prepareStep: (argument) => this.prepareStep(argument),
      experimental_onStepStart: (event) => { this.hook('onStepStart', event); },
      onStepFinish: (result) => this.onStepFinish(result),
      onFinish: (event) => { this.hook('onFinish', event); },
      _internal: { generateId, generateCallId: generateId },
    };
  }

  trace({ error, hung, ...outcome }) {
    const { id, path } = this.program;
    let result = null;
    try {
      if (outcome.steps !== undefined) result = final(outcome);
    } catch (unreadable) {
      error ??= unreadable;
    }
    return {
      id,
      path,
      package: this.sdk.name,
      ...(this.approvals.length > 0 ? { approvals: this.approvals } : {}),
      steps: this.steps,
      final: result,
      caller: show(this.messages),
      error: error === undefined ? null : describe(error),
      ...(hung ? { hung } : {}),
      ...(this.ops.errors.length > 0 ? { opErrors: this.ops.errors } : {}),
    };
  }
}

function generated({ type, text, providerMetadata, ...fields }) {
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  if (type === 'tool-call') return { type, ...fields, input: JSON.stringify(fields.input), ...metadata };
  return { type, ...(text === undefined ? {} : { text }), ...fields, ...metadata };
}

let drawnIds = 0;

function streamed(part) {
  if (part.type !== 'text' && part.type !== 'reasoning') return [generated(part)];
  const id = `part-${drawnIds++}`;
  const metadata = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
  return [
    { type: `${part.type}-start`, id, ...metadata },
    { type: `${part.type}-delta`, id, delta: part.text },
    { type: `${part.type}-end`, id },
  ];
}

function final({ steps, messages, finishReason }) {
  const last = steps.at(-1);
  return show({
    messages,
    steps: steps.map(({ content, response }) => ({ content, messages: response.messages })),
    text: readable(() => last.text),
    finishReason,
  });
}

// A hook may leave content that the package itself cannot read any more.
function readable(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

async function generate(recording) {
  try {
    const result = await recording.sdk.generateText(recording.settings());
    return { steps: result.steps, messages: recording.sdk.resultMessages(result.steps, result.responseMessages), finishReason: result.finishReason };
  } catch (error) {
    return { error };
  }
}

const HUNG = Symbol('hung');

// The stream has ended, so whatever settles does so within a few turns of the event loop.
async function settled(promise) {
  let turns = 5;
  const never = new Promise((resolve) => {
    const turn = () => (turns-- > 0 ? setImmediate(turn) : resolve(HUNG));
    turn();
  });
  return await Promise.race([promise, never]);
}

async function stream(recording) {
  let error;
  const report = (next) => { error ??= next; };
  try {
    const result = recording.sdk.streamText({ ...recording.settings(), onError: (event) => report(event.error) });
    try {
      for await (const _ of result.fullStream);
    } catch (thrown) {
      report(thrown);
    }
    const steps = await settled(result.steps);
    if (steps === HUNG) return { error, hung: true };
    return { error, steps, messages: recording.sdk.resultMessages(steps, await result.responseMessages), finishReason: await result.finishReason };
  } catch (thrown) {
    report(thrown);
    return { error };
  }
}

function check(program) {
  if (!Array.isArray(program.messages) || !Array.isArray(program.script)) throw new TypeError('messages and script are lists');
}

// `sdk` is what the package exports, with its name, the version of its models, and how to read a result's messages.
export function drive(sdk) {
  const [name, version] = sdk.name.split('@');
  serve({ name, version, formats: ['ai-sdk'] }, async (program) => {
    drawn.clear();
    const recording = new Recording(sdk, program);
    return recording.trace(await (program.path === 'stream' ? stream : generate)(recording));
  }, check);
}
