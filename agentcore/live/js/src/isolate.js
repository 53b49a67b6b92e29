// The mend: a hook that is given copies at run time, as in the value run; and one that is given frozen copies, to find its writes.
import { Bridge } from './bridge.js';
import { Snapshot } from './changes.js';
import { Crossing } from './crossing.js';

/** Makes `hook` safe: it gets copies, and only what it returns reaches the framework. */
export const isolated = (hook, boundary, at) =>
  around(hook, boundary, at, () => new Bridge({ lasting: true }), { handles: true });

/** Makes `hook` throw a TypeError at the line where it writes to what it was given, or to what it had returned. */
export const strictly = (hook, boundary, at) =>
  around(hook, boundary, at, () => new Bridge({ lasting: true, freeze: true }), { handles: false });

function around(hook, boundary, at, makeBridge, { handles }) {
  if (boundary.methods && Array.isArray(hook))
    return hook.map((each) => around(each, boundary, at, makeBridge, { handles }));
  const crossing = new Crossing(makeBridge());
  if (!boundary.methods) return between(callable(hook, boundary, at), boundary, crossing, handles);
  const names = Object.keys(boundary.methods).filter((name) => typeof hook[name] === 'function');
  const methods = names.map((name) => [
    name,
    between(hook[name].bind(hook), boundary.methods[name], crossing, handles),
  ]);
  return Object.assign(Object.create(hook), hook, Object.fromEntries(methods));
}

function callable(hook, { method, list }, at) {
  if (Array.isArray(hook) && list) return list(hook);
  return methodOf(hook, method ?? at);
}

function methodOf(hook, method) {
  if (typeof hook === 'function') return hook;
  if (typeof hook?.[method] === 'function') return hook[method].bind(hook);
  throw new TypeError(
    `a hook is a function, or an object with a method ${method}; this one is ${typeof hook}`,
  );
}

function between(hook, spec, crossing, undoes) {
  return function crossed(...args) {
    const { given, stay } = crossing.enter(args, spec);
    const snapshot =
      undoes && spec.handles
        ? new Snapshot(spec.handles(args).map((handle) => ['handle', handle]))
        : undefined;
    const ended = () => {
      snapshot?.writes({ undo: true });
      crossing.outlets(args, spec, stay);
    };
    const done = (made) => {
      ended();
      return crossing.leave(made, stay);
    };
    const failed = (error) => {
      ended();
      throw error;
    };
    let made;
    try {
      made = hook.apply(this, given);
    } catch (error) {
      return failed(error);
    }
    return typeof made?.then === 'function' ? made.then(done, failed) : done(made);
  };
}
