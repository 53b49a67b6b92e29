// The events of hooks: the class of each, and its fields by their names in programs, as a place that ops begin at.
import { record } from './strands_ts_places.mjs';

// `fields(event)` are live: what an event lets a hook replace is read and written through it.
function event(type, fields = () => ({}), replaceable = []) {
  return {
    type,
    view(live, shapes) {
      const known = { ...shapes, stopReason: shapes.text, invocationState: shapes.dictionary };
      const native = Object.defineProperty(fields(live), 'invocationState', { value: live.invocationState, enumerable: true });
      const shape = record(Object.fromEntries(Object.keys(native).map((name) => [name, [known[name], { fixed: !replaceable.includes(name) }]])));
      return { shape, native };
    },
  };
}

const message = (live) => ({ message: live.message });

export const EVENTS = {
  beforeInvocation: event('BeforeInvocationEvent'),
  afterInvocation: event('AfterInvocationEvent'),
  messageAdded: event('MessageAddedEvent', message),
  beforeModel: event('BeforeModelCallEvent'),
  afterModel: event('AfterModelCallEvent', ({ stopData }) => stopData === undefined ? {} : { message: stopData.message, stopReason: stopData.stopReason }),
  beforeTools: event('BeforeToolsEvent', message),
  afterTools: event('AfterToolsEvent', message),
  beforeTool: event('BeforeToolCallEvent', (live) => ({
    get toolUse() { return live.toolUse; },
    set toolUse(value) { live.toolUse = value; },
  }), ['toolUse']),
  afterTool: event('AfterToolCallEvent', (live) => ({
    toolUse: live.toolUse,
    get toolResult() { return live.result; },
    set toolResult(value) { live.result = value; },
  }), ['toolResult']),
  modelDelta: event('ModelStreamUpdateEvent'),
  contentBlock: event('ContentBlockEvent', (live) => ({ block: live.contentBlock })),
};
