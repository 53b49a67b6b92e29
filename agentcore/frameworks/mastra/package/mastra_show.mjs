// Values as they stand in a trace of spec/program-format-processors.md.

// Dates of the year 2000 are the program's own; every other one is the clock's.
const isGiven = (date) => date.getUTCFullYear() === 2000;
const isObject = (value) => value !== null && typeof value === 'object';

// The package writes some dates as numbers of milliseconds, under this name.
const isTime = (key, value) => key === 'createdAt' && typeof value === 'number';

function showDate(date) {
  return Number.isNaN(date.getTime()) || !isGiven(date) ? '<date>' : date.toISOString();
}

// undefined and symbols are dropped, functions and the clock's dates are named; an object inside itself is {cycle: levels up}.
export function show(value, above = []) {
  if (typeof value === 'function') return '<function>';
  if (typeof value === 'symbol') return undefined;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (!isObject(value)) return value;
  if (value instanceof Date) return showDate(value);
  if (value instanceof URL) return value.href;
  if (value instanceof Error) return showError(value);
  const level = above.lastIndexOf(value);
  if (level >= 0) return { cycle: above.length - level };
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map((item) => show(item, inside) ?? null);
  const fields = Object.entries(value).map(([key, item]) => [key, isTime(key, item) ? showDate(new Date(item)) : show(item, inside)]);
  return Object.fromEntries(fields.filter(([, item]) => item !== undefined));
}

// What an error says of itself. A cause that is no error is shown as the value it is.
export function showError(error, above = []) {
  if (!(error instanceof Error)) return { message: isObject(error) && 'message' in error ? show(error.message) : String(error) };
  const { id, code, domain, category, cause } = error;
  return show({
    name: error.name,
    class: error.constructor?.name,
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof code === 'string' ? { code } : {}),
    domain,
    category,
    message: error.message,
    ...(cause instanceof Error && !above.includes(cause) ? { cause: showError(cause, [...above, error]) } : {}),
  });
}

const DRAWN = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

// Ids that were drawn become <id1>, <id2> … in the order in which they stand in the trace; the program's own ids stay.
export function withIdsNumbered(trace, program) {
  const own = new Set(JSON.stringify(program).match(DRAWN));
  const numbers = new Map();
  const renamed = JSON.stringify(trace).replace(DRAWN, (id) => {
    if (own.has(id)) return id;
    if (!numbers.has(id)) numbers.set(id, `<id${numbers.size + 1}>`);
    return numbers.get(id);
  });
  return JSON.parse(renamed);
}
