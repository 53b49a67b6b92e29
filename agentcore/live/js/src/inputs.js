// Inputs of tools that are valid by the tool's own schema: random values of a JSON schema, the same for the same call (live.inputs).
import { matching } from './patterns.js';
import { Random } from './random.js';

const TRIES = 12;
const DEEPEST = 5;
const FORMATS = {
  email: (random) => `${word(random)}@example.com`,
  uri: (random) => `https://example.com/${word(random)}`,
  url: (random) => `https://example.com/${word(random)}`,
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`,
  'date-time': (random) => `2024-0${random.between(1, 9)}-1${random.between(0, 9)}T08:30:00Z`,
  date: (random) => `2024-0${random.between(1, 9)}-1${random.between(0, 9)}`,
  time: () => '08:30:00Z',
  duration: () => 'P1D',
  ipv4: (random) => `192.0.2.${random.between(1, 254)}`,
  ipv6: () => '2001:db8::1',
  hostname: (random) => `${word(random)}.example.com`,
};
const WORDS = ['amber', 'cedar', 'fjord', 'harbor', 'juniper', 'lagoon', 'opal', 'pebble'];
const word = (random) => random.choice(WORDS);
const hex = (random, length) => Array.from({ length }, () => random.between(0, 15).toString(16)).join('');

/**
 * The input for a call: its own if it is valid, else one that the schema makes.
 * @param {object} schema A JSON schema.
 * @param {(input: unknown) => Promise<boolean>} [isValid] The schema's own validation, which may ask for more than JSON schema can say. A
 *   schema that has none accepts objects with the fields that it requires, and no others but those that it names.
 */
export async function inputFor(call, schema, isValid = async (input) => hasFields(input, schema)) {
  if (await isValid(call.input)) return call.input;
  let made;
  for (let index = 0; index < TRIES; index++) {
    made = valueOf(schema, new Random(seedOf(call.id) + index), schema, 0);
    if (await isValid(made)) return made;
  }
  return made;
}

const hasFields = (input, { properties = {}, required = [] }) =>
  required.every((name) => name in Object(input)) &&
  Object.keys(Object(input)).every((name) => name in properties || Object.keys(properties).length === 0);

const seedOf = (text) => [...text].reduce((sum, char) => (Math.imul(sum, 31) + char.codePointAt(0)) >>> 0, 7);

function valueOf(schema, random, root, depth) {
  if (schema === true || schema === undefined) return word(random);
  if (schema.$ref !== undefined) return valueOf(resolved(schema.$ref, root), random, root, depth);
  if ('const' in schema) return schema.const;
  if (schema.enum) return random.choice(schema.enum);
  if (schema.allOf) return valueOf(merged(schema, root), random, root, depth);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return valueOf(chosen(choices, random, depth), random, root, depth);
  if (schema.examples?.length > 0 && random.chance(0.3)) return random.choice(schema.examples);
  return valueOfType(typeOf(schema, random), schema, random, root, depth);
}

// Where values nest, the simplest choice ends it.
const chosen = (choices, random, depth) =>
  depth < DEEPEST ? random.choice(choices) : (choices.find(({ type }) => type === 'null') ?? choices[0]);

function resolved(ref, root) {
  if (ref === '#') return root;
  const keys = ref.replace(/^#\//, '').split('/');
  return keys.reduce((owner, key) => owner?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], root) ?? true;
}

function merged({ allOf, ...rest }, root) {
  return allOf.reduce((all, each) => {
    const part = each.$ref === undefined ? each : resolved(each.$ref, root);
    return {
      ...all,
      ...part,
      properties: { ...all.properties, ...part.properties },
      required: [...(all.required ?? []), ...(part.required ?? [])],
    };
  }, rest);
}

function typeOf(schema, random) {
  if (Array.isArray(schema.type)) return random.choice(schema.type);
  if (schema.type !== undefined) return schema.type;
  if (schema.properties || schema.additionalProperties) return 'object';
  if (schema.items || schema.prefixItems) return 'array';
  if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number';
  return 'string';
}

function valueOfType(type, schema, random, root, depth) {
  if (type === 'object') return objectOf(schema, random, root, depth + 1);
  if (type === 'array') return listOf(schema, random, root, depth + 1);
  if (type === 'string') return textOf(schema, random);
  if (type === 'integer') return numberOf(schema, random, schema.multipleOf ?? 1);
  if (type === 'number') return numberOf(schema, random, schema.multipleOf ?? 0.5);
  if (type === 'boolean') return random.chance(0.5);
  return null;
}

function objectOf(schema, random, root, depth) {
  const { properties = {}, required = [], additionalProperties } = schema;
  const made = {};
  for (const [name, each] of Object.entries(properties))
    if (required.includes(name) || (depth < DEEPEST && random.chance(0.6)))
      made[name] = valueOf(each, random, root, depth);
  const open = additionalProperties && typeof additionalProperties === 'object';
  const least = Math.max(schema.minProperties ?? 0, open && Object.keys(properties).length === 0 ? 1 : 0);
  for (let index = 0; Object.keys(made).length < least; index++)
    made[`${word(random)}${index}`] = valueOf(open ? additionalProperties : true, random, root, depth);
  return made;
}

function listOf({ items, prefixItems = [], minItems = 0, maxItems, uniqueItems }, random, root, depth) {
  const most = Math.min(maxItems ?? Infinity, Math.max(minItems, depth < DEEPEST ? 3 : 0));
  const length = Math.max(prefixItems.length, random.between(Math.min(minItems, most), most));
  const made = Array.from({ length }, (_, index) =>
    valueOf(prefixItems[index] ?? items, random, root, depth),
  );
  if (!uniqueItems) return made;
  return [...new Map(made.map((value) => [JSON.stringify(value), value])).values()];
}

function textOf({ format, pattern, minLength = 0, maxLength = Infinity }, random) {
  if (format in FORMATS) return FORMATS[format](random);
  const matched = pattern === undefined ? undefined : matching(pattern, random);
  if (matched !== undefined) return matched;
  let text = Array.from({ length: random.between(1, 3) }, () => word(random)).join(' ');
  while (text.length < minLength) text += ` ${word(random)}`;
  return text.slice(0, maxLength);
}

function numberOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }, random, step) {
  const low = exclusiveMinimum ?? minimum ?? Math.min(0, (exclusiveMaximum ?? maximum ?? 0) - 10 * step);
  const high = exclusiveMaximum ?? maximum ?? low + 40 * step;
  const first =
    Math.ceil(low / step) + (exclusiveMinimum !== undefined && Number.isInteger(low / step) ? 1 : 0);
  const last =
    Math.floor(high / step) - (exclusiveMaximum !== undefined && Number.isInteger(high / step) ? 1 : 0);
  return last < first ? (low + high) / 2 : random.between(first, last) * step;
}
