// The ops of spec/program-format-processors.md, on the live objects that a processor is given.
import { show } from './mastra_show.mjs';
import { below, isObject, Nowhere, Slot, slot, write } from './writes.mjs';

// A program's own error, or the package's from one of its methods: the processor throws it.
class Thrown extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

const fresh = (value) => structuredClone(value);

function list(value, what) {
  if (!Array.isArray(value)) throw new Nowhere(`${what} is not an array`);
  return value;
}

// When the stored messages were made. Ops may have put anything among them.
export const storedDates = ({ messages }) => messages.map((message) => new Date(message?.createdAt ?? NaN).getTime()).filter(Number.isFinite);

const SPELLING = {
  set: { means: 'set', path: 'at' },
  append: { means: 'addText', path: 'at' },
  delete: { means: 'delete', path: 'at' },
  push: { means: 'push', path: 'at' },
  splice: { means: 'splice', path: 'at' },
  reverse: { means: 'reverse', path: 'at' },
};

// An element that is deleted leaves its place empty.
class Place extends Slot {
  drop() {
    delete this.container[this.key];
  }
}

const LIST_CALLS = {
  add: (target, values) => target.add(...values),
  addSystem: (target, values) => target.addSystem(...values),
  replaceAllSystemMessages: (target, values) => target.replaceAllSystemMessages(...values),
  clearSystemMessages: (target, values) => target.clearSystemMessages(...values),
  removeByIds: (target, values) => target.removeByIds(...values),
  clearAll: (target) => target.clear.all.db(),
  clearInput: (target) => target.clear.input.db(),
  clearResponse: (target) => target.clear.response.db(),
};

// A request context as an object of its keys, which the ops read and write like any other.
const keyed = (context) => new Proxy({}, {
  get: (_, key) => context.get(key),
  set: (_, key, value) => { context.set(key, value); return true; },
  deleteProperty: (_, key) => { context.delete(key); return true; },
  has: (_, key) => context.has(key),
  ownKeys: () => [...context.keys()],
  getOwnPropertyDescriptor: (_, key) => (context.has(key) ? { value: context.get(key), enumerable: true, configurable: true, writable: true } : undefined),
});

// One run's ops. `make` makes what JSON cannot say: model(value), tools(specs), and messageList(), one of nobody's.
export class Ops {
  constructor(make) {
    this.make = make;
    this.stash = Object.create(null);
    this.observations = [];
    this.errors = [];
  }

  // Runs the ops; gives what the processor returns, or throws what it throws.
  run(ops, args, where) {
    const turn = new Turn(this, args, where);
    for (const [number, op] of (ops ?? []).entries()) {
      try {
        turn.apply(op);
      } catch (error) {
        if (error instanceof Thrown) throw error.error;
        this.errors.push(`${where}, op ${number}: ${error instanceof Nowhere ? error.message : 'the object refuses the op'}`);
      }
    }
    return turn.result;
  }
}

// The ops of one call of a processor.
class Turn {
  constructor(ops, args, where) {
    this.ops = ops;
    this.args = args;
    this.where = where;
    this.result = undefined;
    this.latest = 0;
  }

  apply(op) {
    if (write(this, SPELLING, op.op, op)) return;
    const verb = `do_${op.op}`;
    if (typeof this[verb] !== 'function') throw new Nowhere(`there is no op ${op.op}`);
    this[verb](op);
  }

  // --- what is kept and seen ---

  do_stash(op) {
    this.ops.stash[op.name] = this.at(op, op.at ?? []);
  }

  do_observe(op) {
    const value = show(this.at(op, op.at ?? [])) ?? null;
    this.ops.observations.push({ by: this.where, what: op.as, value });
  }

  do_list(op) {
    const { messageList } = this.args;
    const values = this.listValues(op);
    if (typeof LIST_CALLS[op.call] !== 'function') throw new Nowhere(`there is no list method ${op.call}`);
    try {
      LIST_CALLS[op.call](messageList, values);
    } catch (error) {
      throw new Thrown(error);
    }
  }

  listValues(op) {
    const { messageList } = this.args;
    if (op.ids === 'all') return [messageList.messages.map((message) => message?.id)];
    if (op.ids !== undefined) return [fresh(op.ids)];
    if (op.index !== undefined) return [[messageList.messages[slot(messageList.messages, op.index)].id]];
    const given = fresh(op.args ?? []);
    return op.messages === undefined ? given : [this.messages(op.messages), ...given];
  }

  // --- returns ---

  do_return({ op: _, undefined: cleared = [], ...fields }) {
    const made = Object.entries(fields).map(([field, value]) => [field, this.fieldOfResult(field, value)]);
    const base = isObject(this.result) && !Array.isArray(this.result) ? this.result : {};
    this.result = { ...base, ...Object.fromEntries(made), ...Object.fromEntries(cleared.map((name) => [name, undefined])) };
  }

  fieldOfResult(name, value) {
    if (name === 'model') return this.ops.make.model(value);
    if (name === 'messages') return this.messages(value);
    if (name === 'systemMessages') return this.systems(value);
    if (name === 'messageList') return this.messageList(value);
    if (name === 'tools') return this.ops.make.tools(value);
    return fresh(value);
  }

  do_returnMessages(op) {
    this.result = this.messages(op.messages);
  }

  do_returnList(op) {
    this.result = this.messageList(op.which);
  }

  do_returnValue(op) {
    this.result = fresh(op.value);
  }

  do_returnArgs(op) {
    this.result = Object.fromEntries(op.fields.map((name) => [name, this.args[name]]));
  }

  do_abort(op) {
    try {
      this.args.abort(op.reason, fresh(op.options));
    } catch (error) {
      throw new Thrown(error);
    }
  }

  do_throw(op) {
    throw new Thrown(new Error(op.message));
  }

  messageList(which) {
    return which === 'same' ? this.args.messageList : this.ops.make.messageList();
  }

  // --- paths and values ---

  root({ on = 'messages' }) {
    if (on === 'list') return this.args.messageList.messages;
    if (on.startsWith('stash:')) return this.stashed(on.slice('stash:'.length));
    if (on.startsWith('view:')) return this.view(on.slice('view:'.length));
    if (on === 'requestContext') return keyed(this.args.requestContext);
    if (!isObject(this.args[on]) && this.args[on] === undefined) throw new Nowhere(`there is no argument ${on}`);
    return this.args[on];
  }

  stashed(name) {
    if (!(name in this.ops.stash)) throw new Nowhere(`nothing is stashed as ${name}`);
    return this.ops.stash[name];
  }

  view(name) {
    const path = name.split('.');
    const method = path.pop();
    try {
      return path.reduce((views, key) => views[key], this.args.messageList.get)[method]();
    } catch (error) {
      throw new Thrown(error);
    }
  }

  at(op, path) {
    return below(this.root(op), path);
  }

  field(op, path, options) {
    const container = this.at(op, path.slice(0, -1));
    return new Place(container, slot(container, path.at(-1), options));
  }

  items(live, what) {
    return list(live, what);
  }

  value(op) {
    return op.message === undefined ? fresh(op.value) : this.message(op.message);
  }

  item(item) {
    return isObject(item) && 'message' in item ? this.message(item.message) : fresh(item.value ?? item);
  }

  // --- messages ---

  messages(expression) {
    if (Array.isArray(expression)) return expression.map((spec) => this.message(spec));
    let found = this.source(expression.from ?? 'current', this.args.messages);
    for (const stage of expression.pipe ?? []) found = this.stage(found, stage);
    return found;
  }

  source(from, current) {
    if (from === 'current') return list(current, 'the current value');
    if (from === 'list') return this.args.messageList.messages;
    if (from === 'empty') return [];
    if (from.startsWith('view:')) return this.view(from.slice('view:'.length));
    return list(this.stashed(from.slice('stash:'.length)), from);
  }

  stage(messages, stage) {
    const [[name, value]] = Object.entries(stage);
    switch (name) {
      case 'drop': return messages.slice(value);
      case 'take': return messages.slice(0, value);
      case 'last': return value === 0 ? [] : messages.slice(-value);
      case 'roles': return messages.filter(({ role }) => value.includes(role));
      case 'notRoles': return messages.filter(({ role }) => !value.includes(role));
      case 'ids': return messages.filter(({ id }) => value.includes(id));
      case 'reverse': return [...messages].reverse();
      case 'spread': return messages.map((message) => ({ ...message }));
      case 'clone': return fresh(messages);
      case 'mapText': return messages.map((message) => withText(message, value));
      case 'reid': return messages.map((message, index) => ({ ...message, id: `${value}${index}` }));
      case 'role': return messages.map((message) => ({ ...message, role: value }));
      case 'createdAt': return messages.map((message, index) => ({ ...message, createdAt: later(value, index) }));
      case 'concat': return [...messages, ...value.map((spec) => this.message(spec))];
      case 'prepend': return [...value.map((spec) => this.message(spec)), ...messages];
      default: throw new Nowhere(`there is no pipe item ${name}`);
    }
  }

  message(spec) {
    if (spec.core) return { role: spec.role, content: spec.text ?? fresh(spec.content) };
    const { id = crypto.randomUUID(), role, createdAt = 'after' } = spec;
    return {
      ...(id === null ? {} : { id }),
      role,
      ...(createdAt === 'omit' ? {} : { createdAt: this.date(createdAt) }),
      content: spec.content === undefined ? textContent(spec) : fresh(spec.content),
    };
  }

  // Dates are counted from the stored conversation, so that the order is the program's and not the clock's.
  date(when) {
    const stored = storedDates(this.args.messageList);
    if (when === 'before') return new Date(Math.min(Date.now(), ...stored) - 1);
    if (when === 'same') return new Date(Math.max(...(stored.length > 0 ? stored : [Date.now()])));
    if (when !== 'after') return new Date(when);
    this.latest = Math.max(Date.now(), this.latest + 1, ...stored.map((time) => time + 1));
    return new Date(this.latest);
  }

  // --- system messages ---

  systems(expression) {
    if (Array.isArray(expression)) return expression.map(system);
    let found = this.source(expression.from ?? 'current', this.args.systemMessages);
    for (const stage of expression.pipe ?? []) found = systemStage(found, stage);
    return found;
  }
}

function systemStage(messages, stage) {
  const [[name, value]] = Object.entries(stage);
  switch (name) {
    case 'drop': return messages.slice(value);
    case 'take': return messages.slice(0, value);
    case 'spread': return messages.map((message) => ({ ...message }));
    case 'concat': return [...messages, ...value.map(system)];
    case 'prepend': return [...value.map(system), ...messages];
    default: throw new Nowhere(`there is no pipe item ${name}`);
  }
}

const system = (value) => (typeof value === 'string' ? { role: 'system', content: value } : fresh(value));
const later = (iso, milliseconds) => new Date(new Date(iso).getTime() + milliseconds);

// `mirror` is the text beside the parts: true for the same text.
function textContent({ text, mirror }) {
  const beside = mirror === true ? text : mirror;
  return { format: 2, parts: [{ type: 'text', text }], ...(typeof beside === 'string' ? { content: beside } : {}) };
}

function withText(message, { prefix = '', suffix = '', roles }) {
  const { role, content } = message;
  if (roles !== undefined && !roles.includes(role)) return message;
  const change = (text) => `${prefix}${text}${suffix}`;
  if (typeof content === 'string') return { ...message, content: change(content) };
  if (!Array.isArray(content?.parts)) return { ...message };
  const parts = content.parts.map((part) => (part.type === 'text' ? { ...part, text: change(part.text) } : part));
  return { ...message, content: { ...content, parts, ...(typeof content.content === 'string' ? { content: change(content.content) } : {}) } };
}
