// What every driver for @mastra/core shares: programs (spec/program-format-processors.md) on its own Agent.
import { makeModel, makeTool } from './mastra_models.mjs';
import { Ops, storedDates } from './mastra_ops.mjs';
import { Clock, runs } from './mastra_world.mjs';
import { show, showError, withIdsNumbered } from './mastra_show.mjs';
import { serve } from './lines.mjs';

const HI = ['hi'];
const DONE = [[{ type: 'text', text: 'ok' }]];
const AT_ONCE = 16;
const SOURCES = [['memory', 'remembered'], ['input', 'input'], ['response', 'response'], ['context', 'context']];

class Recording {
  constructor(sdk, program) {
    this.sdk = sdk;
    this.program = program;
    this.modelCalls = 0;
    this.events = [];
    this.received = [];
    this.model = [];
    this.tools = [];
    this.logged = [];
    this.list = undefined;
    this.clock = new Clock();
    this.ops = new Ops({
      model: (value) => this.returnedModel(value),
      tools: (specs) => this.makeTools(specs),
      messageList: () => new sdk.MessageList().add('external', 'input'),
    });
    this.caller = callerValues(program);
    this.passed = callerValues(program);
    this.requestContext = program.requestContext && new sdk.RequestContext(Object.entries(structuredClone(program.requestContext)));
  }

  // --- what the program is given ---

  makeModel(id, version = 'v2') {
    return makeModel({ id, version }, (name, method, options) => this.answer(name, method, options));
  }

  returnedModel(value) {
    if (typeof value === 'string') return this.makeModel(value);
    return value.router ?? this.makeModel(value.id, value.version);
  }

  makeTools(specs) {
    return Object.fromEntries(Object.entries(specs ?? {}).map(([name, spec]) => [name, this.makeTool(name, spec)]));
  }

  makeTool(name, spec) {
    return makeTool(this.sdk, name, spec, (called, input) => {
      this.events.push(`tool:${called}`);
      this.tools.push({ name: called, input: show(input) });
    });
  }

  answer(name, method, { prompt, tools, toolChoice, providerOptions, abortSignal: _, includeRawChunks: __, ...settings }) {
    this.events.push(`model:${name}`);
    const names = tools?.map((tool) => tool.name);
    this.model.push(show({ model: name, method, prompt, tools: names, toolChoice, providerOptions, settings }));
    this.clock.think();
    return (this.program.script ?? DONE)[this.modelCalls++] ?? [];
  }

  // --- processors ---

  processor({ id, steps, input }) {
    const recording = this;
    return {
      id,
      ...(input === undefined ? {} : { processInput: (args) => recording.turn(id, 'input', input, args) }),
      ...(steps === undefined ? {} : { processInputStep: (args) => recording.turn(id, args.stepNumber, forStep(steps, args.stepNumber), args) }),
    };
  }

  processors(place) {
    const found = (this.program.processors ?? []).filter(({ where = 'call' }) => where === place);
    return found.map((processor) => this.processor(processor));
  }

  prepareStep(name) {
    const steps = this.program[name];
    return steps && ((args) => this.turn(name, args.stepNumber, forStep(steps, args.stepNumber), args));
  }

  turn(processor, step, ops, args) {
    this.list = args.messageList;
    this.clock.passBy(storedDates(this.list));
    this.events.push(`${processor}@${step}`);
    const record = { step, processor, got: show(got(args)) };
    this.received.push(record);
    try {
      const result = this.ops.run(ops, args, `${processor}@${step}`);
      record.returned = kindOf(result, args.messageList, this.sdk.MessageList);
      return result;
    } catch (error) {
      record.threw = show(error.message);
      throw error;
    }
  }

  // --- the run ---

  agent() {
    const { system, maxRetries, fallbackModels = [], defaultPrepareStep } = this.program;
    const models = ['base', ...fallbackModels].map((id) => this.makeModel(id));
    const inputProcessors = this.processors('ctor');
    return new this.sdk.Agent({
      id: 'agent',
      name: 'agent',
      instructions: system === undefined ? '' : structuredClone(system).map(asSystem),
      model: models.length === 1 ? models[0] : models.map((model) => ({ model })),
      ...(this.program.tools === undefined ? {} : { tools: this.makeTools(this.program.tools) }),
      ...(inputProcessors.length === 0 ? {} : { inputProcessors }),
      ...(maxRetries === undefined ? {} : { maxRetries }),
      ...(defaultPrepareStep === undefined ? {} : { defaultOptions: { prepareStep: this.prepareStep('defaultPrepareStep') } }),
    });
  }

  options() {
    const { messages: _, callSystem, ...options } = this.passed;
    const inputProcessors = this.processors('call');
    const given = inputProcessors.length > 0 || this.program.emptyCallProcessors;
    return {
      ...options,
      ...(callSystem === undefined ? {} : { system: callSystem }),
      ...(this.requestContext === undefined ? {} : { requestContext: this.requestContext }),
      ...(given ? { inputProcessors } : {}),
      ...(this.program.prepareStep === undefined ? {} : { prepareStep: this.prepareStep('prepareStep') }),
      maxSteps: this.program.maxSteps ?? 10,
    };
  }

  async run() {
    try {
      const call = this.program.path === 'stream' ? stream : generate;
      return this.trace(await call(this.agent(), this.passed.messages, this.options()));
    } catch (error) {
      return this.trace({ error: showError(error) });
    }
  }

  changedContext() {
    if (this.requestContext === undefined) return {};
    const before = { requestContext: this.program.requestContext };
    return changed(before, { requestContext: Object.fromEntries(this.requestContext.entries()) });
  }

  printed(values) {
    for (const entry of values.flatMap(errorsOf)) {
      if (!this.logged.some((known) => JSON.stringify(known) === JSON.stringify(entry))) this.logged.push(entry);
    }
  }

  trace({ final = null, error = null, chunks }) {
    const { id, path = 'generate' } = this.program;
    const trace = {
      id,
      version: this.sdk.version,
      path,
      events: this.events,
      received: this.received,
      model: this.model,
      tools: this.tools,
      final,
      error,
      logged: this.logged,
      ...(chunks === undefined ? {} : { chunks }),
      ...(this.list === undefined ? {} : { list: stored(this.list), listSystem: show(this.list.getAllSystemMessages()) }),
      callerChanged: { ...changed(this.caller, this.passed), ...this.changedContext() },
      ...(this.ops.observations.length > 0 ? { observations: this.ops.observations } : {}),
      ...(this.ops.errors.length > 0 ? { opErrors: this.ops.errors } : {}),
    };
    return withIdsNumbered(trace, this.program);
  }
}

const forStep = (steps, number) => steps[number] ?? steps['*'];
const asSystem = (value) => (typeof value === 'string' ? { role: 'system', content: value } : value);

// --- the caller's own objects ---

const CALLER = ['messages', 'providerOptions', 'modelSettings', 'toolChoice', 'activeTools', 'context', 'callSystem'];

function callerValues(program) {
  const given = structuredClone({ messages: HI, ...program });
  const values = Object.fromEntries(CALLER.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]));
  for (const name of ['messages', 'context']) values[name]?.forEach(withDate);
  return values;
}

function withDate(message) {
  if (typeof message?.createdAt === 'string') message.createdAt = new Date(message.createdAt);
}

function changed(before, after) {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(names.map((name) => [name, show(after[name])]));
}

// --- what is recorded ---

function got(args) {
  const { messages, systemMessages, messageList, model, toolChoice, activeTools, tools } = args;
  const { providerOptions, modelSettings, stepNumber, steps, retryCount } = args;
  const systems = messageList.getAllSystemMessages();
  return {
    messages,
    systemMessages,
    model: model?.modelId,
    toolChoice,
    activeTools,
    tools: tools && Object.keys(tools),
    providerOptions,
    modelSettings,
    stepNumber,
    steps: steps?.length,
    stepTexts: steps?.map((step) => step?.text),
    retryCount,
    listMessages: messageList.messages.map((message) => message?.id),
    listSystem: systems,
    live: {
      messages: messages === messageList.messages,
      elements: Array.isArray(messages) && messages.every((message) => messageList.messages.includes(message)),
      systemMessages: systemMessages === messageList.systemMessages,
    },
  };
}

function kindOf(result, own, MessageList) {
  if (result === own) return 'list';
  if (result instanceof MessageList) return 'external list';
  if (Array.isArray(result)) return 'array';
  if (result === null) return 'null';
  return typeof result === 'object' ? Object.keys(result) : typeof result;
}

function stored(list) {
  const sourceOf = (message) => {
    const sets = { memory: list.memoryMessages, input: list.newUserMessages, response: list.newResponseMessages, context: list.userContextMessages };
    return SOURCES.find(([name]) => sets[name].has(message))?.[1] ?? 'none';
  };
  return list.messages.map((message) => ({ source: sourceOf(message), message: show(message) }));
}

function errorsOf(value) {
  if (value instanceof Error) return [showError(value)];
  if (typeof value === 'string') return [{ line: value.split('\n', 1)[0] }];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).filter((inside) => inside instanceof Error).map((inside) => showError(inside));
}

// --- the two paths ---

async function generate(agent, messages, options) {
  const result = await agent.generate(messages, options);
  return { final: final(result) };
}

async function stream(agent, messages, options) {
  const output = await agent.stream(messages, options);
  const chunks = [];
  let error = null;
  for await (const chunk of output.fullStream) {
    if (chunk.type === 'error') error ??= showError(chunk.payload?.error);
    if (chunks.at(-1) !== chunk.type) chunks.push(chunk.type);
  }
  if (error !== null) return { error, chunks };
  const streamText = await output.text;
  return { final: { ...final(await output.getFullOutput()), streamText }, chunks };
}

function final({ text, finishReason, steps, tripwire, response }) {
  return show({ text, finishReason, steps: steps?.map((step) => step.text), tripwire, responseMessages: response?.messages });
}

// --- the filter ---

const late = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds).unref(); });

async function answered(sdk, program) {
  const limit = program.timeoutMs ?? 20000;
  const timedOut = late(limit).then(() => ({ id: program.id, driverError: `no outcome after ${limit} ms` }));
  try {
    const recording = new Recording(sdk, program);
    return await runs.run(recording, () => Promise.race([recording.run(), timedOut]));
  } catch (error) {
    return { id: program.id, driverError: String(error) };
  }
}

function check(program) {
  if (program === null || typeof program !== 'object' || Array.isArray(program)) throw new TypeError('a program is an object');
}

const refusal = (id, message) => ({ id, driverError: `BadProgram: ${message}` });

// `sdk` is what the package exports, its version, and `looseObject`, a schema that takes every object.
export function drive(sdk) {
  const implementation = { name: '@mastra/core', version: sdk.version, formats: ['mastra'] };
  serve(implementation, (program) => answered(sdk, program), check, refusal, { atOnce: AT_ONCE });
}
