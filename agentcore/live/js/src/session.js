// One run of a conversation in the framework: what the adapter is given, the hook as one of four things, and what was observed.
//   live    the hook itself
//   value   the hook between copies: only what it returns counts
//   shadow  the hook is called on the plain conversation, what it returns is recorded and discarded
//   none    no hook
import { Bridge } from './bridge.js';
import { Snapshot } from './changes.js';
import { Crossing } from './crossing.js';
import { callsById, toolNames } from './conversation.js';
import { mendBuiltIns } from './intrinsics.js';
import { Seeded, within } from './seeded.js';
import { sameTrees, show, tree } from './show.js';
import { HANGS, isHang, describe } from './outcome.js';

const isObject = (value) => typeof value === 'object' && value !== null;
const isMethod = (object, name) => typeof Object.getOwnPropertyDescriptor(object, name)?.value === 'function';
const DONE = { parts: [{ type: 'text', text: 'done' }] };

export class Session {
  constructor({
    adapter,
    at,
    talk,
    path,
    variant = 0,
    plain = false,
    mode,
    limit = 10_000,
    watch,
    through,
    twin = false,
    guard = false,
  }) {
    Object.assign(this, { adapter, at, talk, path, variant, plain, mode, limit, guard });
    this.boundary = adapter.boundaries[at];
    this.seeded = new Seeded(1);
    this.bridge = new Bridge({
      watch,
      twin,
      through: through && ((write) => through({ ...write, call: this.calling })),
      wrote: (write) => this.#wrote(write),
    });
    this.crossing = new Crossing(this.bridge, (error) =>
      this.errors.push({ ...describe(error), call: this.calling, yielding: true }),
    );
    this.outcomes = callsById(talk);
    this.beside = {};
    this.turn = -1;
    this.prompts = [];
    this.calls = [];
    this.writes = [];
    this.errors = [];
    this.handleWrites = 0;
  }

  // For adapters ----------------------------------------------------------------------------------------------------------------------

  /** Begins the next turn and returns it, or undefined after the last. */
  nextTurn() {
    const turn = this.talk.turns[++this.turn];
    this.answered = 0;
    this.firstPrompt = this.prompts.length;
    return turn && structuredClone(turn);
  }

  /** Records a prompt as the model was given it, and returns what the scripted model answers. */
  async answer(prompt) {
    this.prompts.push({ turn: this.turn, step: this.prompts.length - this.firstPrompt, text: show(prompt) });
    await this.seeded.settle();
    this.#look();
    const { answers } = this.talk.turns[this.turn];
    return structuredClone(answers[this.answered++] ?? DONE);
  }

  /** The scripted outcome of a call of a tool: a fresh copy of its output, or an error thrown. */
  outcome(id) {
    const call = this.outcomes.get(id) ?? { output: null };
    if (call.error !== undefined || call.denied !== undefined) throw new Error(call.error ?? call.denied);
    return structuredClone(call.output);
  }

  /**
   * The hook to put at the boundary. `beside` has others of the person's that share its state, by boundary; they are in `session.beside`, for an
   * adapter that puts them in, too.
   * @param {{hook: Function | object, beside?: Record<string, Function>, owner?: object}} of `owner` has what the hook comes with.
   */
  wrap({ hook, beside = {}, owner }) {
    this.owner = owner;
    for (const [name, other] of Object.entries(beside)) this.beside[name] = this.#wrappedAt(name, other);
    return this.#wrappedAt(this.at, hook);
  }

  #wrappedAt(at, hook) {
    const boundary = this.adapter.boundaries[at];
    const { methods } = boundary;
    if (!methods) return this.#wrapped(hook, boundary, at);
    if (Array.isArray(hook)) return hook.map((each) => this.#wrappedAt(at, each));
    const wrapped = Object.keys(methods)
      .filter((name) => typeof hook[name] === 'function')
      .map((name) => [name, this.#wrapped(hook[name].bind(hook), methods[name], name)]);
    return Object.assign(Object.create(hook), Object.fromEntries(wrapped));
  }

  /** Gives the calls of the conversation the inputs that `input(call)` resolves to: those that the hook's own tool accepts. */
  async useInputs(input) {
    this.talk = structuredClone(this.talk);
    this.outcomes = callsById(this.talk);
    for (const call of this.outcomes.values()) call.input = await input(call);
  }

  /** The scripted call of a tool with this id. */
  call(id) {
    return this.outcomes.get(id);
  }

  hasNextTurn() {
    return this.turn + 1 < this.talk.turns.length;
  }

  toolNames() {
    return toolNames(this.talk);
  }

  /**
   * Runs the whole conversation: each turn's messages are added to the caller's, and `turn(messages)` runs the framework on them. It resolves to
   * `{result, steps, said, store, observers}`, where `said` are the messages that the caller adds; requests for approval among them are answered,
   * and the framework is run again. Resolves to what was observed.
   */
  async converse({ translated, answered = () => [] }, turn) {
    const observed = { caller: [], result: [], steps: [] };
    for (let next = this.nextTurn(); next; next = this.nextTurn()) {
      const added = next.messages.flatMap((message, index) =>
        translated(message, index + this.variant, this.variant),
      );
      observed.caller.push(...added);
      for (let waiting = true; waiting;) {
        const { result, steps, said = [], ...others } = await turn(observed.caller);
        observed.result.push(result);
        observed.steps.push(steps);
        Object.assign(observed, others);
        const answers = answered(said, (id) => this.call(id));
        waiting = answers.length > 0;
        if (waiting || this.hasNextTurn()) observed.caller.push(...said, ...answers);
      }
    }
    return observed;
  }

  // The wrapper -----------------------------------------------------------------------------------------------------------------------

  #wrapped(hook, spec, name) {
    const modes = { live: this.#live, value: this.#value, shadow: this.#shadow, none: this.#none };
    const session = this;
    return function called(...args) {
      const call = {
        name,
        spec,
        turn: session.turn,
        step: session.prompts.length - session.firstPrompt,
        prompt: session.prompts.length,
      };
      if (session.mode !== 'none') session.calls.push(call);
      call.beside = !(name === session.at || name in (session.boundary.methods ?? {}));
      return modes[session.mode].call(session, hook.bind(this), args, call);
    };
  }

  #none(hook, args, { spec }) {
    return spec.passive?.(args, this);
  }

  #live(hook, args, call) {
    const before =
      this.guard && new Snapshot(args.map((arg, index) => [call.spec.params?.[index] ?? '', arg]));
    const ended = () =>
      before && before.writes().forEach((write) => this.#wrote({ ...write, guarded: true }));
    return this.#run(
      call,
      () => hook(...args),
      (made) => {
        ended();
        return made;
      },
      (error) => {
        ended();
        throw error;
      },
    );
  }

  #shadow(hook, args, call) {
    const passive = () => call.spec.passive?.(args, this);
    return this.#run(
      call,
      () => hook(...this.#given(args, call)),
      (made) => {
        this.#made(made, call);
        return passive();
      },
      passive,
    );
  }

  #value(hook, args, call) {
    this.#look();
    const given = this.#given(args, call);
    const handles =
      call.spec.handles && new Snapshot(call.spec.handles(args).map((handle) => ['handle', handle]));
    const ended = () => {
      // Before writes to copies may reach the framework's objects: a handle may lead to these, too.
      this.#handled(handles);
      this.crossing.outlets(args, call.spec, call.stay);
      this.bridge.look();
    };
    return this.#run(
      call,
      () => hook(...given),
      (made) => {
        ended();
        this.#made(made, call);
        return this.crossing.leave(made, call.stay);
      },
      (error) => {
        ended();
        throw error;
      },
    );
  }

  // Writes through a handle are taken back, unless they are to reach the framework.
  #handled(handles) {
    const writes = handles?.writes() ?? [];
    for (const write of writes) this.#wrote({ ...write, handle: true });
    if (!writes.some((write) => this.bridge.through?.(write))) handles?.writes({ undo: true });
  }

  // Looks for writes while no call of the hook goes on: what is found now was written after the hook had returned.
  #look({ quick = true } = {}) {
    this.late = true;
    this.bridge.look({ quick });
    this.late = false;
  }

  // Runs the hook, sync or async, and records what it throws.
  #run(
    call,
    work,
    done,
    failed = (error) => {
      throw error;
    },
  ) {
    const fail = (error) => {
      this.errors.push({ ...describe(error), call });
      return failed(error);
    };
    this.calling = call;
    let made;
    try {
      made = this.seeded.asHook(work);
    } catch (error) {
      this.#mend();
      return fail(error);
    }
    this.#mend();
    if (typeof made?.then !== 'function') return done(this.#returned(made, call));
    return this.seeded
      .awaited(within(this.limit, made, HANGS))
      .finally(() => this.#mend())
      .then((value) => {
        if (isHang(value)) throw new HANGS.Error(this.limit);
        return this.#returned(value, call);
      })
      .then(done, fail);
  }

  // What returns a hook is no hook, but what makes it. Options with a hook among them (`prepareCall`) are not.
  #returned(made, call) {
    const isHooks = (object) => Object.values(object).every((own) => typeof own === 'function');
    call.makes = typeof made === 'function' || (isObject(made) && isMethod(made, this.at) && isHooks(made));
    return made;
  }

  #mend() {
    const replaced = mendBuiltIns();
    this.replaced ??= replaced;
  }

  #given(args, call) {
    const { given, stay } = this.crossing.enter(args, call.spec);
    call.stay = stay;
    if (call.spec.messages) Object.assign(call, { given: tree(call.spec.messages(given)), args: given });
    return given;
  }

  #made(returned, call) {
    const { spec } = call;
    if (!spec.output || !call.given) return;
    const output = spec.output(returned);
    const made = output === undefined ? call.given : tree(output);
    call.made = sameTrees(made, call.given) ? call.given : made;
    call.output = output;
  }

  #wrote(write) {
    const call = this.calling;
    this.writes.push({
      ...write,
      late: this.late === true,
      call: call && { name: call.name, turn: call.turn, step: call.step, prompt: call.prompt },
      prompt: this.prompts.length,
      turn: this.turn,
    });
  }

  // The end ---------------------------------------------------------------------------------------------------------------------------

  /** What the run shows: texts by holder, to be compared with those of another run. */
  async end(observed, error) {
    await this.seeded.end();
    this.#look({ quick: false });
    this.ended = true;
    const holders = Object.fromEntries(
      ['caller', 'result', 'steps', 'store', 'observers'].map((name) => [
        name,
        observed?.[name] === undefined ? undefined : show(observed[name]),
      ]),
    );
    return Object.assign(this, { holders, error: error && describe(error) });
  }
}
