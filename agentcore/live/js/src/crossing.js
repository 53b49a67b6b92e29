// One call of a hook across the bridge: its arguments in, what it makes out, with streams, functions that it calls to go on, outlets, and
// handles that stay themselves.

export class Crossing {
  /** `failed` is called for an error in what the hook yields. */
  constructor(bridge, failed = () => {}) {
    Object.assign(this, { bridge, failed });
  }

  /** The hook's side of `args`: `{given, stay}`; `stay` holds what stays itself. */
  enter(args, spec) {
    const stay = new Set(
      [...staying(args, spec.stay), ...(spec.handles?.(args) ?? [])].filter(
        (value) => typeof value === 'object' && value !== null,
      ),
    );
    for (const name of spec.next ?? [])
      if (typeof args[0][name] === 'function') this.#pairNext(args[0][name], stay);
    for (const arg of args) if (typeof arg === 'function') this.#pairNext(arg, stay);
    const roots = [...rootsOf(args, spec), ...args.map((arg, index) => [spec.params?.[index] ?? '', arg])];
    return { given: args.length === 0 ? [] : this.bridge.enter(roots, stay).slice(-args.length), stay };
  }

  /** The framework's side of what the hook made. */
  leave(made, stay) {
    return this.#crossed('returned', made, 'leave', stay);
  }

  /** Takes over what may be assigned in place (live.outlets). */
  outlets(args, spec, stay) {
    for (const [owner, key] of spec.outlets?.(args) ?? []) this.bridge.takeOver(owner, key, stay);
  }

  // A function that the hook calls to go on: its arguments leave the hook's side, and its result enters.
  #pairNext(next, stay) {
    if (this.bridge.leaves.framework.has(next)) return;
    const across = (result) => this.#crossed('result', result, 'enter', stay);
    const onward = (...args) => {
      this.bridge.look();
      const result = next(
        ...this.bridge.leave(
          args.map((arg) => ['next', arg]),
          stay,
        ),
      );
      return typeof result?.then === 'function' ? result.then(across) : across(result);
    };
    this.bridge.pairLeaf(next, onward);
  }

  #crossed(place, value, direction, stay) {
    const side = direction === 'enter' ? 'framework' : 'hook';
    if (isDuplex(value) && !this.bridge.leaves[side].has(value)) {
      const mapped = this.#mappedDuplex(value, direction);
      this.bridge.pairLeaf(...(direction === 'enter' ? [value, mapped] : [mapped, value]));
    }
    for (const items of [value, value?.stream]) {
      if (!isFlow(items) || this.bridge.leaves[side].has(items)) continue;
      const mapped =
        items instanceof ReadableStream
          ? this.#mappedStream(items, direction)
          : this.#mappedItems(items, direction, stay);
      this.bridge.pairLeaf(...(direction === 'enter' ? [items, mapped] : [mapped, items]));
    }
    return this.bridge[direction]([[place, value]], stay)[0];
  }

  // What is written to a transform goes to its maker, and what is read of it comes from there.
  #mappedDuplex({ readable, writable }, direction) {
    const back = direction === 'enter' ? 'leave' : 'enter';
    const writer = writable.getWriter();
    const across = (chunk) => this.bridge[back]([['chunk', chunk]])[0];
    return {
      readable: this.#mappedStream(readable, direction),
      writable: new WritableStream({
        write: (chunk) => writer.write(across(chunk)),
        close: () => writer.close(),
        abort: (reason) => writer.abort(reason),
      }),
    };
  }

  // Streams are mapped chunk by chunk, when they are read and not before.
  #mappedStream(stream, direction) {
    let reader;
    return new ReadableStream(
      {
        pull: async (controller) => {
          reader ??= stream.getReader();
          const { done, value } = await reader.read();
          this.bridge.look();
          if (done) controller.close();
          else controller.enqueue(this.bridge[direction]([['chunk', value]])[0]);
        },
        cancel: (reason) => (reader ?? stream).cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  async *#mappedItems(items, direction, stay) {
    const iterator = items[Symbol.asyncIterator]();
    let ended = false;
    try {
      while (!ended) {
        const { done, value } = await iterator.next();
        this.bridge.look();
        const mapped = this.bridge[direction]([[done ? 'returned' : 'yielded', value]], stay)[0];
        ended = done === true;
        if (ended) return mapped;
        yield mapped;
      }
    } catch (error) {
      if (direction === 'leave') this.failed(error);
      ended = true;
      throw error;
    } finally {
      if (!ended) await iterator.return?.();
      this.bridge.look();
    }
  }
}

// What stays itself, by a function of the arguments or by the names of fields of any of them.
export const staying = (args, stay = []) =>
  Array.isArray(stay) ? args.flatMap((arg) => stay.map((name) => arg?.[name])) : stay(args);

// Fields of a single argument are places by their own names, the most telling first.
function rootsOf(args, { first = [], params }) {
  if (params) return [];
  return first.filter((name) => args[0]?.[name] !== undefined).map((name) => [name, args[0][name]]);
}

const isFlow = (value) =>
  value instanceof ReadableStream ||
  (typeof value?.next === 'function' && typeof value[Symbol.asyncIterator] === 'function');

const isDuplex = (value) =>
  value?.readable instanceof ReadableStream && value.writable instanceof WritableStream;
