// What the drivers for @strands-agents/sdk share: programs (spec/program-format-middleware.md) on its own Agent.
import { serve } from './lines.mjs';
import { Handlers } from './strands_ts_handlers.mjs';
import { aliases } from './strands_ts_holders.mjs';
import { edit, shapes } from './strands_ts_places.mjs';
import { makeModel, makeTool } from './strands_ts_scripted.mjs';
import { Nowhere } from './writes.mjs';

// The package's notes must not get among the answers.
console.log = console.info = console.debug = console.warn = console.error;

const LOG_ENTRIES = 400;

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

  // --- the caller and the agent -------------------------------------------------------------------------------

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
      model: makeModel(this),
      messages: caller.messages,
      ...(caller.system === undefined ? {} : { systemPrompt: caller.system }),
      tools: Object.entries(program.tools ?? {}).map(([name, tool]) => makeTool(this, name, tool)),
      modelState: structuredClone(program.modelState ?? {}),
      toolExecutor: program.executor ?? 'sequential',
      conversationManager: new sdk.NullConversationManager(),
      retryStrategy: null,
      printer: false,
      ...(program.structuredOutput ? { structuredOutputSchema: sdk.z.object({ name: sdk.z.string() }) } : {}),
    });
    agent.addHook(sdk.BeforeModelCallEvent, () => { this.pending = undefined; });
    agent.addHook(sdk.BeforeToolsEvent, ({ message }) => { this.pending = message; });
    this.handlers = new Handlers(this, agent);
    return agent;
  }

  // --- what happens in the run --------------------------------------------------------------------------------

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
      make();
    } catch (error) {
      if (!(error instanceof Nowhere)) throw error;
      this.trace.pathErrors.push({ by, op, path });
      throw new PathError(`cannot ${op} at ${JSON.stringify(path)}`);
    }
  }

  editAll(by, root, edits = []) {
    for (const op of edits) this.at(by, op.op, op.path, () => edit(root, op.op, op));
  }

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
    return { ...this.trace, ...this.afterwards(), aliases: aliases(this, outcomes) };
  }

  // --- what became of it --------------------------------------------------------------------------------------

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

  afterwards() {
    const { agent, caller, shapes, program, before } = this;
    const now = this.shownOfCaller();
    return {
      agentMessages: shapes.messages.show(agent.messages),
      system: shapes.system.show(agent.systemPrompt),
      toolSpecs: shapes.toolSpecs.show(agent.tools.map((tool) => tool.toolSpec)),
      modelState: agent.modelState.getAll(),
      invocationState: caller.invocationState ? now.invocationState : null,
      caller: {
        config: { messages: now['config.messages'], system: now['config.system'] },
        inputs: now.inputs,
        ...(program.options && { options: now.options }),
        changed: Object.keys(now).filter((name) => JSON.stringify(now[name]) !== JSON.stringify(before[name])),
      },
    };
  }
}

function check(program) {
  if (program === null || typeof program !== 'object' || Array.isArray(program)) throw new TypeError('a program is an object');
  const { messages = [], middleware = [], hooks = [], inputs = [], script = [] } = program;
  for (const [name, value] of Object.entries({ messages, middleware, hooks, inputs, script })) {
    if (!Array.isArray(value)) throw new TypeError(`${name} is a list`);
  }
}

// A run that never comes back is not waited for longer than its program says.
async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve({ driverError: `TimeLimit: no end within ${milliseconds} ms` }), milliseconds); });
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
    { name: '@strands-agents/sdk', version: sdk.version, formats: ['strands'] },
    async (program) => ({ ...head(program.id), ...(await within(program.timeoutMs ?? 10000, traceOf(sdk, program))) }),
    check,
    (id, message) => ({ ...head(id), driverError: `BadProgram: ${message}` }),
  );
}
