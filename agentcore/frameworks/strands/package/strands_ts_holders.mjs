// Who holds what: which objects of a context are the agent's or the caller's own, and who shares objects after a run.
import { objectsOf, shared } from './strands_ts_places.mjs';

// All objects of the agent and of the caller. The message whose tools run is in no history yet.
function held({ agent, caller, pending, shapes }) {
  const places = [
    { shape: shapes.messages, native: agent.messages },
    { shape: shapes.message, native: pending },
    { shape: shapes.system, native: agent.systemPrompt },
    { shape: shapes.toolSpecs, native: agent.tools.map((tool) => tool.toolSpec) },
    { shape: shapes.messages, native: caller.messages },
    { shape: shapes.system, native: caller.system },
    ...caller.inputs.map((native) => ({ shape: shapes.args, native })),
    { shape: shapes.json, native: caller.options },
    { shape: shapes.json, native: caller.invocationState },
  ];
  return new Map(places.flatMap((place) => [...objectsOf(place)])).set(agent.modelState, []);
}

// Of every field of a context or a result whether it is one of these objects, or holds some.
export function identity(run, { stage, shape, native }) {
  const known = held(run);
  const { dictionary, json } = run.shapes;
  const places = Object.fromEntries(shape.names.map((name) => [name, shape.step(native, name)]));
  if (stage === 'stream') places.invocationState = { shape: dictionary, native: native.options?.invocationState };
  if (stage === 'model') places.modelState = { shape: json, native: native.modelState };
  return Object.fromEntries(Object.entries(places).map(([name, place]) => [name, heldIn(name, place, known)]));
}

function heldIn(name, place, known) {
  if (place.native === undefined) return { mode: 'absent' };
  if (place.native === null || typeof place.native !== 'object') return { mode: 'value' };
  // Nothing outside the loop holds the tool choice that it forces.
  if (name === 'toolChoice') return { mode: 'unknown' };
  if (known.has(place.native)) return { mode: 'share' };
  const paths = shared(place, [name], known).map(([path]) => path);
  return paths.length > 0 ? { mode: 'shallow', paths } : { mode: 'deep' };
}

export function aliases({ agent, caller, shapes }, outcomes) {
  const history = { shape: shapes.messages, native: agent.messages };
  // Of what several inputs have the first counts, so it is put in last.
  const inputs = new Map(caller.inputs.flatMap((native, index) => [...objectsOf({ shape: shapes.args, native }, [index])]).reverse());
  const results = [...outcomes.entries()].filter(([, { result }]) => result !== undefined);
  const within = (field, shape, known) => results.flatMap(([index, { result }]) => shared({ shape, native: result[field] }, [index], known));
  return {
    historyAndConfig: shared(history, [], objectsOf({ shape: shapes.messages, native: caller.messages })),
    historyAndInput: shared(history, [], inputs),
    resultAndHistory: within('lastMessage', shapes.message, objectsOf(history)),
    resultStateAndCaller: within('invocationState', shapes.dictionary, objectsOf({ shape: shapes.json, native: caller.invocationState })),
  };
}
