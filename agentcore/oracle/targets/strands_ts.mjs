// What the drivers for @strands-agents/sdk share: programs (spec/program-format-middleware.md) on its own Agent.
import { serve } from './lines.mjs';
import { EVENTS } from './strands_ts_events.mjs';
import { edit, look, Nowhere, objectsOf, record, shapes, shared } from './strands_ts_places.mjs';

// The package's notes must not get among the answers.
console.log = console.info = console.debug = console.warn = console.error;

const MODEL_CALLS = 25;
const LOG_ENTRIES = 2000;
const STAGES = { InvokeModelStage: 'model', ExecuteToolStage: 'tool', AgentStreamStage: 'stream' };
const ACTIONS = ['set', 'append', 'insert', 'delete'];

class PathError extends Error {
  name = 'PathError';
}

// The run goes round and round; it is ended by letting nothing more happen in it.
class TooLong extends Error {
  name = 'TooLong';
}

class Run {
  constructor(sdk, program) {
    Object.assign(this, { sdk, program });
    this.shapes = shapes(sdk);
    this.trace = { calls: [], toolRuns: [], log: [], observations: [], identity: [], results: [], pathErrors: [] };
    this.caller = this.callersObjects();
    this.before = this.shownOfCaller();
    this.agent = this.makeAgent();
  }

  // --- the caller ---------------------------------------------------------------------------------------------

  callersObjects() {
    const { messages = [], messagesForm = 'message', system = null, input = 'go', inputs = [input], inputForm = 'message', invocationState, options } = this.program;
    const state = invocationState && structuredClone(invocationState);
    return {
      messages: this.shapes.messages.make(messages, messagesForm),
      system: this.shapes.system.make(system, 'data'),
      inputs: inputs.map((given) => this.shapes.args.make(given, inputForm)),
      invocationState: state,
      options: options || state ? { ...(state && { invocationState: state }), ...structuredClone(options) } : undefined,
    };
  }

  shownOfCaller() {
    const { messages, system, inputs, options, invocationState } = this.caller;
    const { invocationState: _, ...others } = options ?? {};
    return {
      'config.messages': this.shapes.messages.show(messages),
      'config.system': this.shapes.system.show(system),
      inputs: inputs.map((input) => this.shapes.args.show(input)),
      options: this.shapes.json.show(others),
      invocationState: this.shapes.json.show(invocationState ?? null),
    };
  }

  makeAgent() {
    const { sdk, program, caller } = this;
    const agent = new sdk.Agent({
      model: this.makeModel(),
      messages: caller.messages,
      ...(caller.system === undefined ? {} : { systemPrompt: caller.system }),
      tools: Object.entries(program.tools ?? {}).map(([name, tool]) => this.makeTool(name, tool)),
      modelState: structuredClone(program.modelState ?? {}),
      toolExecutor: program.executor ?? 'sequential',
      conversationManager: new sdk.NullConversationManager(),
      retryStrategy: null,
      printer: false,
      ...(program.structuredOutput ? { structuredOutputSchema: sdk.z.object({ name: sdk.z.string() }) } : {}),
    });
    // The message whose tools run is in no history yet.
    agent.addHook(sdk.BeforeModelCallEvent, () => { this.pending = undefined; });
    agent.addHook(sdk.BeforeToolsEvent, ({ message }) => { this.pending = message; });
    for (const hook of program.hooks ?? []) this.addHook(agent, hook);
    for (const [index, handler] of (program.middleware ?? []).entries()) this.addMiddleware(agent, index, handler);
    return agent;
  }

  // --- the scripted model and the tools -----------------------------------------------------------------------

  makeModel() {
    const run = this;
    return new (class extends this.sdk.Model {
      updateConfig() {}
      getConfig() {
        return { modelId: 'scripted' };
      }
      async countTokens() {
        return 0;
      }
      stream(messages, options) {
        return run.answer(messages, options);
      }
    })();
  }

  async *answer(messages, { systemPrompt, toolSpecs, toolChoice, modelState }) {
    const number = this.trace.calls.length;
    const { shapes } = this;
    const name = `model#${number}`;
    this.log(name);
    if (number === MODEL_CALLS) this.tooLong(`more than ${MODEL_CALLS} model calls`);
    const given = { messages, system: systemPrompt, toolSpecs, toolChoice };
    this.trace.calls.push({
      messages: shapes.messages.show(messages),
      system: plainSystem(shapes.system.show(systemPrompt)),
      toolSpecs: shapes.toolSpecs.show(toolSpecs),
      toolChoice: toolChoice === undefined ? null : shapes.json.show(toolChoice),
      modelState: modelState.getAll(),
    });
    const entry = this.program.script?.[number] ?? [{ text: '(end)' }];
    const said = Array.isArray(entry) ? { blocks: entry } : { blocks: [], ...entry };
    this.editAll(name, given, said.mutate, ['messages', 'system', 'toolSpecs', 'toolChoice']);
    for (const [key, value] of Object.entries(said.modelState ?? {})) modelState.set(key, value);
    for (const key of said.modelStateDelete ?? []) modelState.delete(key);
    if (said.throw !== undefined) throw new Error(said.throw);
    yield* spoken(said.blocks, said.stopReason ?? stopReasonOf(said.blocks));
    if (said.throwAfter !== undefined) throw new Error(said.throwAfter);
  }

  makeTool(name, { output = null, outputs = [output], description = `tool ${name}`, inputSchema = { type: 'object', properties: {} }, ...tool }) {
    const run = this;
    let runs = 0;
    return new (class extends this.sdk.Tool {
      name = name;
      description = description;
      toolSpec = { name, description, inputSchema: structuredClone(inputSchema) };
      // eslint-disable-next-line require-yield
      async *stream({ toolUse, invocationState }) {
        run.log(`tool:${name}`);
        run.trace.toolRuns.push({
          name,
          toolUseId: toolUse.toolUseId,
          input: run.shapes.json.show(toolUse.input),
          invocationState: run.shapes.json.show(invocationState),
        });
        const result = outputs[Math.min(runs++, outputs.length - 1)];
        Object.assign(invocationState, structuredClone(tool.setInvocationState ?? {}));
        run.editAll(`tool:${name}`, toolUse, tool.mutateInput, ['input']);
        if (tool.throw !== undefined) throw new Error(tool.throw);
        return run.shapes.toolResult.make({ toolUseId: toolUse.toolUseId, ...resultOf(result) });
      }
    })();
  }

  editAll(by, native, edits = [], fields) {
    const { json, messages, system, toolSpecs, dictionary } = this.shapes;
    const known = { input: json, messages, system, toolSpecs, toolChoice: dictionary };
    const shape = record(Object.fromEntries(fields.map((field) => [field, [known[field], { fixed: true }]])));
    for (const op of edits) this.at(by, op.op, op.path, () => edit({ shape, native }, op.op, op));
  }

  // --- handlers -----------------------------------------------------------------------------------------------

  log(entry) {
    if (this.abandoned) throw this.abandoned;
    if (this.trace.log.length === LOG_ENTRIES) this.tooLong(`more than ${LOG_ENTRIES} entries of the log`);
    this.trace.log.push(entry);
  }

  tooLong(reason) {
    this.abandoned = new TooLong(reason);
    throw this.abandoned;
  }

  // Does what may find nothing at its path; then that is noted, and raised.
  at(by, op, path, make) {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Nowhere)) throw error;
      this.trace.pathErrors.push({ by, op, path });
      throw new PathError(`cannot ${op} at ${JSON.stringify(path)}`);
    }
  }

  addHook(agent, { on, ops }) {
    const { type, view } = EVENTS[on];
    let entries = 0;
    agent.addHook(this.sdk[type], (event) => {
      this.log(`hook:${on}`);
      const entry = entries++;
      const root = view(event, this.shapes);
      for (const op of ops) if (applies(op, entry)) this.hookOp(`hook:${on}`, op, event, root);
    });
  }

  hookOp(by, op, event, root) {
    if (op.op === 'retry') event.retry = true;
    else if (op.op === 'cancel') event.cancel = op.message ?? true;
    else this.commonOp(by, op, root);
  }

  // The ops that are the same everywhere.
  commonOp(by, op, root) {
    const { agent } = this;
    if (op.op === 'throw') throw new Error(op.message ?? 'thrown');
    else if (op.op === 'setModelState') agent.modelState.set(op.key, op.value);
    else if (op.op === 'deleteModelState') agent.modelState.delete(op.key);
    else if (op.op === 'observeModelState') this.observe(by, op, 'modelState', agent.modelState.getAll());
    else if (op.op === 'observeAgent') this.observe(by, op, 'agent', this.shapes.messages.show(agent.messages));
    else if (op.op === 'observe') this.observe(by, op, JSON.stringify(op.path), look(this.target(op, root), this.pathIn(root, op.path)));
    else if (op.op === 'setInvocationState') this.setInvocationState(by, op, root);
    else if (ACTIONS.includes(op.op)) this.at(by, op.op, op.path, () => this.editAt(op.op, op, this.target(op, root), root));
    else throw new TypeError(`${op.op} is no op of ${by}`);
  }

  editAt(action, op, target, root, copying = false) {
    const edited = { ...op, path: this.pathIn(target, op.path) };
    const form = target === root && op.path[0] === 'args' ? this.program.inputForm : undefined;
    return edit(target, action, edited, { form: form ?? 'message', copying });
  }

  // The agent stream stage has the state inside the options.
  pathIn({ stage }, path) {
    return stage === 'stream' && path[0] === 'invocationState' ? ['options', ...path] : path;
  }

  target(op, root) {
    if (op.on === 'agent') return this.rootOfAgent();
    if (root === undefined) throw new Nowhere();
    return root;
  }

  rootOfAgent() {
    const { agent, shapes } = this;
    const shape = record({
      messages: [shapes.messages, { fixed: true }],
      system: [shapes.system, { native: 'systemPrompt', fixed: true }],
      toolSpecs: [shapes.toolSpecs, { fixed: true }],
    });
    return { shape, native: { messages: agent.messages, systemPrompt: agent.systemPrompt, toolSpecs: agent.tools.map((tool) => tool.toolSpec) } };
  }

  setInvocationState(by, { key, value }, root) {
    this.at(by, 'setInvocationState', ['invocationState'], () => {
      edit(root, 'set', { path: [...this.pathIn(root, ['invocationState']), key], value });
    });
  }

  observe(by, { as }, what, value) {
    this.trace.observations.push({ by, what: as ?? what, value });
  }

  addMiddleware(agent, index, { stage, phase = 'wrap', ops = [] }) {
    const kind = STAGES[stage] ?? stage;
    const token = this.sdk.stages[kind];
    const handler = { by: `mw${index}:${kind}.${phase}`, stage: kind, entries: 0, ops };
    if (phase === 'input') agent.addMiddleware(token.Input, async (context) => this.onInput(handler, context));
    else if (phase === 'output') agent.addMiddleware(token.Output, async (result) => this.onOutput(handler, result));
    else agent.addMiddleware(token, (context, next) => this.onWrap(handler, context, next));
  }

  onInput(handler, context) {
    let current = context;
    this.eachOp(handler, (op) => {
      current = this.contextOp(handler, op, current);
    });
    this.log(`${handler.by}:exit`);
    return current;
  }

  onOutput(handler, result) {
    let current = result;
    this.eachOp(handler, (op) => {
      current = this.resultOp(handler, op, current);
    });
    this.log(`${handler.by}:exit`);
    return current;
  }

  eachOp(handler, act) {
    const entry = this.enter(handler);
    for (const op of handler.ops) if (applies(op, entry)) act(op);
  }

  enter(handler) {
    this.log(`${handler.by}:enter`);
    return handler.entries++;
  }

  // Gives the context to go on with: the one given, or the copy that a `with` makes.
  contextOp(handler, op, context) {
    const root = this.rootOfContext(handler.stage, context);
    if (op.op === 'with') {
      const copy = { ...root, native: { ...context } };
      this.at(handler.by, 'with', op.path, () => this.editAt(op.action, op, copy, copy, true));
      return copy.native;
    }
    if (op.op === 'identity') this.identity(handler.by, root, Object.keys(context));
    else if (op.op === 'setModelStateViaContext') this.viaContext(handler.by, op, context);
    else this.commonOp(handler.by, op, root);
    return context;
  }

  viaContext(by, { key, value }, context) {
    this.at(by, 'setModelStateViaContext', ['modelState'], () => {
      if (context.modelState === undefined) throw new Nowhere();
      context.modelState.set(key, value);
    });
  }

  resultOp(handler, op, result) {
    if (op.op === 'with') {
      const [copy, root] = this.copyOfResult(handler.stage, result);
      this.at(handler.by, 'with', op.path, () => this.editAt(op.action, op, root, root, true));
      return copy;
    }
    const root = this.rootOfResult(handler.stage, result);
    if (op.op === 'identity') this.identity(handler.by, root);
    else this.commonOp(handler.by, op, root);
    return result;
  }

  rootOfContext(stage, context) {
    const { shapes } = this;
    const state = { invocationState: [shapes.dictionary] };
    const fields = {
      model: {
        messages: [shapes.messages],
        system: [shapes.system, { native: 'systemPrompt' }],
        toolSpecs: [shapes.toolSpecs],
        toolChoice: [shapes.dictionary],
        ...state,
      },
      tool: { toolUse: [shapes.toolUse], ...state },
      stream: { args: [shapes.args], options: [shapes.dictionary] },
    };
    return { stage, shape: record(fields[stage]), native: context };
  }

  rootOfResult(stage, result) {
    const { shapes } = this;
    const last = { stopReason: [shapes.text] };
    const fields = {
      model: { message: [shapes.message], ...last },
      tool: { toolResult: [shapes.toolResult, { native: 'result' }] },
      stream: { lastMessage: [shapes.message], ...last },
    };
    return { shape: record(fields[stage]), native: stage === 'tool' ? result : result.result };
  }

  copyOfResult(stage, result) {
    const { result: inner } = result;
    const copy = stage === 'tool' ? { ...result } : { ...result, result: Object.assign(Object.create(Object.getPrototypeOf(inner)), inner) };
    return [copy, this.rootOfResult(stage, copy)];
  }

  // A generator of the package's own kind: yields the events of `next`, returns the stage's result.
  async *onWrap(handler, context, next) {
    const entry = this.enter(handler);
    const state = { context, result: undefined, error: undefined, nexts: 0 };
    for (const op of handler.ops) {
      if (!applies(op, entry)) continue;
      if (op.op === 'stop') break;
      if (op.op === 'next') yield* this.callNext(handler, op, state, context, next);
      else this.wrapOp(handler, op, state);
    }
    if (state.nexts === 0 && state.result === undefined) yield* this.callNext(handler, {}, state, context, next);
    if (state.result === undefined) throw state.error;
    this.log(`${handler.by}:exit`);
    return state.result;
  }

  wrapOp(handler, op, state) {
    if (op.op === 'shortCircuit') {
      state.result = this.shortCircuit(handler.stage, op, state.context);
    } else if (op.on !== 'result') {
      state.context = this.contextOp(handler, op, state.context);
    } else if (state.result === undefined) {
      this.at(handler.by, op.op, op.path ?? [], () => { throw new Nowhere(); });
    } else {
      state.result = this.resultOp(handler, op, state.result);
    }
  }

  async *callNext(handler, { ctx, catch: caught = false, events }, state, original, next) {
    this.log(`${handler.by}:next#${state.nexts++}`);
    try {
      const inner = next(ctx === 'original' ? original : state.context);
      let step = await inner.next();
      while (!step.done) {
        if (events !== 'drop') yield step.value;
        step = await inner.next();
      }
      state.result = step.value;
    } catch (error) {
      if (!caught) throw error;
      this.log(`${handler.by}:caught`);
      Object.assign(state, { result: undefined, error });
    }
  }

  shortCircuit(stage, { blocks = [{ text: '(short)' }], stopReason, status = 'success', content = [{ text: '(short)' }] }, context) {
    if (stage === 'tool') return { result: this.shapes.toolResult.make({ toolUseId: context.toolUse.toolUseId, status, content }) };
    const message = this.shapes.message.make({ role: 'assistant', content: blocks }, 'message');
    if (stage === 'model') return { result: { message, stopReason: stopReason ?? stopReasonOf(blocks) } };
    const { invocationState = {} } = context.options ?? {};
    return { result: new this.sdk.AgentResult({ stopReason: stopReason ?? 'endTurn', lastMessage: message, invocationState }) };
  }

  // --- who holds what -----------------------------------------------------------------------------------------

  identity(by, root, keys) {
    const known = this.held();
    const fields = root.shape.names.map((name) => [name, this.heldIn(name, root.shape.step(root.native, name), known)]);
    if (root.stage === 'stream') fields.push(['invocationState', this.heldIn('invocationState', this.statePlace(root.native), known)]);
    if (root.stage === 'model') fields.push(['modelState', this.heldIn('modelState', { shape: this.shapes.json, native: root.native.modelState }, known)]);
    this.trace.identity.push({ by, ...(keys && { keys }), fields: Object.fromEntries(fields) });
  }

  statePlace({ options }) {
    return { shape: this.shapes.dictionary, native: options?.invocationState };
  }

  heldIn(name, place, known) {
    if (place.native === undefined) return { mode: 'absent' };
    if (place.native === null || typeof place.native !== 'object') return { mode: 'value' };
    if (name === 'toolChoice') return { mode: 'unknown' };
    if (known.has(place.native)) return { mode: 'share' };
    const paths = shared(place, [name], known).map(([path]) => path);
    return paths.length > 0 ? { mode: 'shallow', paths } : { mode: 'deep' };
  }

  // All objects of the agent and of the caller.
  held() {
    const { agent, caller, shapes } = this;
    const places = [
      { shape: shapes.messages, native: agent.messages },
      { shape: shapes.message, native: this.pending },
      { shape: shapes.system, native: agent.systemPrompt },
      { shape: shapes.toolSpecs, native: agent.tools.map((tool) => tool.toolSpec) },
      { shape: shapes.messages, native: caller.messages },
      { shape: shapes.system, native: caller.system },
      ...caller.inputs.map((native) => ({ shape: shapes.args, native })),
      { shape: shapes.json, native: caller.options },
      { shape: shapes.json, native: caller.invocationState },
    ];
    const known = new Map(places.flatMap((place) => [...objectsOf(place)]));
    return known.set(agent.modelState, []);
  }

  aliases(outcomes) {
    const { agent, caller, shapes } = this;
    const history = { shape: shapes.messages, native: agent.messages };
    const results = outcomes.map((outcome, index) => [index, outcome]).filter(([, outcome]) => outcome.result);
    const inputs = new Map(caller.inputs.flatMap((native, index) => [...objectsOf({ shape: shapes.args, native }, [index])]).reverse());
    const within = (pick, shape, known) => results.flatMap(([index, { result }]) => shared({ shape, native: pick(result) }, [index], known));
    return {
      historyAndConfig: shared(history, [], objectsOf({ shape: shapes.messages, native: caller.messages })),
      historyAndInput: shared(history, [], inputs),
      resultAndHistory: within((result) => result.lastMessage, shapes.message, objectsOf(history)),
      resultStateAndCaller: within((result) => result.invocationState, shapes.dictionary, objectsOf({ shape: shapes.json, native: caller.invocationState })),
    };
  }

  // --- the run ------------------------------------------------------------------------------------------------

  async invoke(input) {
    try {
      return { result: await this.agent.invoke(input, this.caller.options) };
    } catch (error) {
      return { error };
    }
  }

  async run() {
    const outcomes = [];
    for (const input of this.caller.inputs) outcomes.push(await this.invoke(input));
    if (this.abandoned) return { driverError: `TooLong: ${this.abandoned.message}` };
    this.trace.results = outcomes.map((outcome) => this.shownOutcome(outcome));
    return { ...this.trace, ...this.afterwards(outcomes) };
  }

  shownOutcome({ result, error }) {
    if (error) return { error: { type: error.name ?? 'Error', message: error.message ?? String(error) } };
    const { stopReason, lastMessage, invocationState, structuredOutput } = result;
    return {
      stopReason,
      lastMessage: this.shapes.message.show(lastMessage),
      invocationState: this.shapes.json.show(invocationState),
      ...(structuredOutput === undefined ? {} : { structuredOutput }),
    };
  }

  afterwards(outcomes) {
    const { agent, caller, shapes } = this;
    const { 'config.messages': messages, 'config.system': system, inputs, options, invocationState } = this.shownOfCaller();
    const now = { 'config.messages': messages, 'config.system': system, inputs, options, invocationState };
    return {
      agentMessages: shapes.messages.show(agent.messages),
      system: shapes.system.show(agent.systemPrompt),
      toolSpecs: shapes.toolSpecs.show(agent.tools.map((tool) => tool.toolSpec)),
      modelState: agent.modelState.getAll(),
      invocationState: caller.invocationState ? invocationState : null,
      caller: {
        config: { messages, system },
        inputs,
        ...(this.program.options && { options }),
        changed: Object.keys(now).filter((name) => JSON.stringify(now[name]) !== JSON.stringify(this.before[name])),
      },
      aliases: this.aliases(outcomes),
    };
  }
}

// --- what programs leave out ----------------------------------------------------------------------------------

const applies = ({ when }, entry) => when === undefined || [when].flat().includes(entry);
const stopReasonOf = (blocks) => (blocks.some((block) => 'toolUse' in block) ? 'toolUse' : 'endTurn');
const plainSystem = (shown) => (Array.isArray(shown) && shown.length === 1 && 'text' in shown[0] ? shown[0].text : shown);

function resultOf(output) {
  if (typeof output === 'string') return { status: 'success', content: [{ text: output }] };
  if (Array.isArray(output?.content)) return { status: output.status ?? 'success', content: output.content };
  return { status: 'success', content: [{ json: output }] };
}

function* spoken(blocks, stopReason) {
  yield { type: 'modelMessageStartEvent', role: 'assistant' };
  for (const { text, toolUse, reasoning } of blocks) {
    yield { type: 'modelContentBlockStartEvent', ...(toolUse && { start: { type: 'toolUseStart', name: toolUse.name, toolUseId: toolUse.toolUseId } }) };
    if (text !== undefined) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
    if (toolUse) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: JSON.stringify(toolUse.input) } };
    if (reasoning) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'reasoningContentDelta', ...reasoning } };
    yield { type: 'modelContentBlockStopEvent' };
  }
  yield { type: 'modelMessageStopEvent', stopReason };
}

function check({ messages = [], middleware = [], hooks = [], inputs = [], script = [] }) {
  for (const [name, value] of Object.entries({ messages, middleware, hooks, inputs, script })) {
    if (!Array.isArray(value)) throw new TypeError(`${name} is a list`);
  }
}

// A run that never comes back is not waited for longer than its program says.
async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve({ driverError: `no end within ${milliseconds} ms` }), milliseconds); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function traceOf(sdk, program) {
  try {
    return await new Run(sdk, program).run();
  } catch (error) {
    return { driverError: `${error.name}: ${error.message}` };
  }
}

// `sdk` is what the package exports, with zod, the tokens of the stages by their names in programs, and the package's version.
export function drive(sdk) {
  sdk.configureLogging({ debug() {}, info() {}, warn() {}, error() {} });
  const head = (id) => ({ id, impl: 'strands-ts', version: sdk.version });
  serve(
    async (program) => ({ ...head(program.id), ...(await within(program.timeoutMs ?? 10000, traceOf(sdk, program))) }),
    check,
    (id, message) => ({ ...head(id), driverError: `BadProgram: ${message}` }),
  );
}
