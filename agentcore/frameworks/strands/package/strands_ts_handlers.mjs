// The hooks and the middleware of a program: their ops on the SDK's live events, contexts and results.
import { EVENTS } from './strands_ts_events.mjs';
import { identity } from './strands_ts_holders.mjs';
import { edit, look, record } from './strands_ts_places.mjs';
import { stopReasonOf } from './strands_ts_scripted.mjs';
import { Nowhere } from './writes.mjs';

const STAGES = { InvokeModelStage: 'model', ExecuteToolStage: 'tool', AgentStreamStage: 'stream' };
const ACTIONS = ['set', 'append', 'insert', 'delete'];
const SHORT = [{ text: '(short)' }];

const applies = ({ when }, entry) => when === undefined || [when].flat().includes(entry);
const nowhere = () => { throw new Nowhere(); };

export class Handlers {
  constructor(run, agent) {
    this.run = run;
    this.agent = agent;
    const { hooks = [], middleware = [] } = run.program;
    for (const hook of hooks) this.addHook(hook);
    for (const [index, handler] of middleware.entries()) this.addMiddleware(index, handler);
  }

  // --- hooks --------------------------------------------------------------------------------------------------

  addHook({ on, ops = [] }) {
    const { type, view } = EVENTS[on];
    let entries = 0;
    this.agent.addHook(this.run.sdk[type], (event) => {
      this.run.log(`hook:${on}`);
      const entry = entries++;
      for (const op of ops) if (applies(op, entry)) this.hookOp(`hook:${on}`, op, event, view(event, this.run.shapes));
    });
  }

  hookOp(by, op, event, root) {
    if (op.op === 'retry') event.retry = true;
    else if (op.op === 'cancel') event.cancel = op.message ?? true;
    else this.commonOp(by, op, root);
  }

  // --- ops that are the same everywhere -----------------------------------------------------------------------

  commonOp(by, op, root) {
    const { agent, run } = this;
    const observe = (what, value) => run.trace.observations.push({ by, what: op.as ?? what, value });
    if (op.op === 'throw') throw new Error(op.message ?? 'thrown');
    else if (op.op === 'setModelState') agent.modelState.set(op.key, op.value);
    else if (op.op === 'deleteModelState') agent.modelState.delete(op.key);
    else if (op.op === 'observeModelState') observe('modelState', agent.modelState.getAll());
    else if (op.op === 'observeAgent') observe('agent', run.shapes.messages.show(agent.messages));
    else if (op.op === 'observe') observe(JSON.stringify(op.path), look(...this.aimed(op, root)));
    else if (op.op === 'setInvocationState') this.setInvocationState(by, op, root);
    else if (ACTIONS.includes(op.op)) run.at(by, op.op, op.path, () => this.edit(op.op, op, root));
    else throw new TypeError(`${op.op} is no op of ${by}`);
  }

  setInvocationState(by, { key, value }, root) {
    this.run.at(by, 'setInvocationState', ['invocationState'], () => this.edit('set', { path: ['invocationState', key], value }, root));
  }

  edit(action, op, root, copying = false) {
    const [target, path] = this.aimed(op, root);
    const form = path[0] === 'args' ? this.run.program.inputForm : undefined;
    edit(target, action, { ...op, path }, { form: form ?? 'message', copying });
  }

  // What an op is about, and the path in it. The agent stream stage has the state inside its options.
  aimed({ on, path }, root) {
    if (on === 'agent') return [this.rootOfAgent(), path];
    return [root, root.stage === 'stream' && path[0] === 'invocationState' ? ['options', ...path] : path];
  }

  rootOfAgent() {
    const { agent, run: { shapes } } = this;
    const fixed = { fixed: true };
    return {
      shape: record({ messages: [shapes.messages, fixed], system: [shapes.system, fixed], toolSpecs: [shapes.toolSpecs, fixed] }),
      native: { messages: agent.messages, system: agent.systemPrompt, toolSpecs: agent.tools.map((tool) => tool.toolSpec) },
    };
  }

  // --- middleware ---------------------------------------------------------------------------------------------

  addMiddleware(index, { stage, phase = 'wrap', ops = [] }) {
    const kind = STAGES[stage] ?? stage;
    const token = this.run.sdk.stages[kind];
    const handler = { by: `mw${index}:${kind}.${phase}`, stage: kind, entries: 0, ops };
    if (phase === 'input') this.agent.addMiddleware(token.Input, async (context) => this.inTurn(handler, context, 'contextOp'));
    else if (phase === 'output') this.agent.addMiddleware(token.Output, async (result) => this.inTurn(handler, result, 'resultOp'));
    else this.agent.addMiddleware(token, (context, next) => this.wrap(handler, context, next));
  }

  enter(handler) {
    this.run.log(`${handler.by}:enter`);
    const entry = handler.entries++;
    return handler.ops.filter((op) => applies(op, entry));
  }

  // All ops on a context or a result, each on what the one before it goes on with.
  inTurn(handler, value, act) {
    let current = value;
    for (const op of this.enter(handler)) current = this[act](handler, op, current);
    this.run.log(`${handler.by}:exit`);
    return current;
  }

  // Gives the context to go on with: the one given, or the copy that a `with` makes.
  contextOp({ by, stage }, op, context) {
    const root = this.rootOfContext(stage, context);
    if (op.op === 'with') return this.copied(by, op, { ...root, native: { ...context } }).native;
    if (op.op === 'identity') this.identity(by, root, { keys: Object.keys(context) });
    else if (op.op === 'setModelStateViaContext') this.viaContext(by, op, context);
    else this.commonOp(by, op, root);
    return context;
  }

  copied(by, op, root) {
    this.run.at(by, 'with', op.path, () => this.edit(op.action, op, root, true));
    return root;
  }

  identity(by, root, keys = {}) {
    this.run.trace.identity.push({ by, ...keys, fields: identity(this.run, root) });
  }

  viaContext(by, { key, value }, { modelState }) {
    this.run.at(by, 'setModelStateViaContext', ['modelState'], modelState === undefined ? nowhere : () => modelState.set(key, value));
  }

  resultOp({ by, stage }, op, result) {
    if (op.op === 'with') {
      const copy = copyOfResult(stage, result);
      this.copied(by, op, this.rootOfResult(stage, copy));
      return copy;
    }
    const root = this.rootOfResult(stage, result);
    if (op.op === 'identity') this.identity(by, root);
    else this.commonOp(by, op, root);
    return result;
  }

  rootOfContext(stage, native) {
    const { messages, system, toolSpecs, dictionary, options, toolUse, args } = this.run.shapes;
    const state = { invocationState: [dictionary] };
    const fields = {
      model: { messages: [messages], system: [system, { native: 'systemPrompt' }], toolSpecs: [toolSpecs], toolChoice: [dictionary], ...state },
      tool: { toolUse: [toolUse], ...state },
      stream: { args: [args], options: [options] },
    };
    return { stage, shape: record(fields[stage]), native };
  }

  rootOfResult(stage, result) {
    const { message, text, toolResult } = this.run.shapes;
    const fields = {
      model: { message: [message], stopReason: [text] },
      tool: { toolResult: [toolResult, { native: 'result' }] },
      stream: { lastMessage: [message], stopReason: [text] },
    };
    return { shape: record(fields[stage]), native: stage === 'tool' ? result : result.result };
  }

  // A generator of the SDK's own kind: yields the events of `next`, returns the stage's result.
  async *wrap(handler, context, next) {
    const state = { context, result: undefined, error: undefined, nexts: 0 };
    for (const op of this.enter(handler)) {
      if (op.op === 'stop') break;
      if (op.op === 'next') yield* this.callNext(handler, op, state, context, next);
      else this.wrapOp(handler, op, state);
    }
    if (state.nexts === 0 && state.result === undefined) yield* this.callNext(handler, {}, state, context, next);
    if (state.result === undefined) throw state.error;
    this.run.log(`${handler.by}:exit`);
    return state.result;
  }

  wrapOp(handler, op, state) {
    if (op.op === 'shortCircuit') state.result = this.shortCircuit(handler.stage, op, state.context);
    else if (op.on !== 'result') state.context = this.contextOp(handler, op, state.context);
    else if (state.result === undefined) this.run.at(handler.by, op.op, op.path ?? [], nowhere);
    else state.result = this.resultOp(handler, op, state.result);
  }

  async *callNext({ by }, { ctx, catch: caught = false, events }, state, original, next) {
    this.run.log(`${by}:next#${state.nexts++}`);
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
      this.run.log(`${by}:caught`);
      Object.assign(state, { result: undefined, error });
    }
  }

  shortCircuit(stage, { blocks = SHORT, stopReason, status = 'success', content = SHORT }, context) {
    const { sdk, shapes } = this.run;
    if (stage === 'tool') return { result: shapes.toolResult.make({ toolUseId: context.toolUse.toolUseId, status, content }) };
    const message = shapes.message.make({ role: 'assistant', content: blocks }, 'message');
    if (stage === 'model') return { result: { message, stopReason: stopReason ?? stopReasonOf(blocks) } };
    const { invocationState = {} } = context.options ?? {};
    return { result: new sdk.AgentResult({ stopReason: stopReason ?? 'endTurn', lastMessage: message, invocationState }) };
  }
}

function copyOfResult(stage, result) {
  if (stage === 'tool') return { ...result };
  return { ...result, result: Object.assign(Object.create(Object.getPrototypeOf(result.result)), result.result) };
}
