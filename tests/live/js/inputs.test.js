// Tools of one's own: the scripted model calls them with inputs that their schemas accept.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import { kindsOf, majors, packageFile, project, report } from './setup.js';

const { inputFor } = await import(packageFile('src/inputs.js'));
const { matching } = await import(packageFile('src/patterns.js'));
const { Random } = await import(packageFile('src/random.js'));
const zodOf = (major) => createRequire(join(project(major), 'package.json'))('zod').z;
const z = zodOf(6);

const schemas = {
  'required texts and numbers': z.object({ city: z.string().min(3), days: z.number().int().min(1).max(7) }),
  'choices, literals and nullables': z.object({
    unit: z.enum(['c', 'f']),
    kind: z.literal('forecast'),
    note: z.string().nullable(),
  }),
  unions: z.union([
    z.object({ by: z.literal('id'), id: z.uuid() }),
    z.object({ by: z.literal('name'), name: z.string() }),
  ]),
  formats: z.object({
    mail: z.email(),
    link: z.url(),
    at: z.iso.datetime(),
    day: z.iso.date(),
    host: z.ipv4(),
  }),
  patterns: z.object({
    code: z.string().regex(/^[A-Z]{2}-\d{3,5}(x|yz)?$/),
    slug: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
  }),
  'lists and tuples': z.object({
    tags: z.array(z.string()).min(2).max(4),
    at: z.tuple([z.number(), z.number()]),
  }),
  records: z.record(z.string(), z.number().positive()),
  'numbers in steps': z.object({
    half: z.number().multipleOf(0.5).gt(0).lt(3),
    ten: z.number().int().multipleOf(10),
  }),
  'what only zod can say': z.object({ word: z.string().refine((text) => text.length % 2 === 0) }),
  'optional and nested': z.object({ filter: z.object({ limit: z.number().max(50).optional() }).optional() }),
  recursion: z.object({
    name: z.string(),
    get children() {
      return z.array(schemas.recursion);
    },
  }),
};

for (const [what, schema] of Object.entries(schemas))
  test(`inputs of ${what} are valid, many, and the same for the same call`, async () => {
    const isValid = async (input) => schema.safeParse(input).success;
    const json = z.toJSONSchema(schema, { io: 'input' });
    const made = async (index) => await inputFor({ id: `call-${index}`, input: 5 }, json, isValid);
    const all = [];
    for (let index = 0; index < 40; index++) all.push(await made(index));
    for (const input of all) assert.ok(await isValid(input), JSON.stringify(input));
    assert.deepEqual(await made(3), all[3]);
    assert.ok(new Set(all.map((input) => JSON.stringify(input))).size > 1);
  });
test('an input that is valid stays as it is', async () => {
  const call = { id: 'call-1', input: { city: 'Bern', days: 2 } };
  assert.equal(await inputFor(call, {}, async () => true), call.input);
});
test('a pattern that is not understood makes nothing', () => {
  assert.equal(matching('^(?=a)b?a$', new Random(1)), undefined);
  assert.equal(matching('(a)\\1', new Random(1)), undefined);
});

const tool = (
  major,
  execute,
  schema = (own) => own.object({ city: own.string().min(2), days: own.number().int() }),
) => ({
  description: 'weather',
  inputSchema: schema(zodOf(major)),
  execute,
});
const judgedTool = (major, make) =>
  report({
    at: 'execute',
    hooks: () => ({ execute: tool(major, make()) }),
    project: project(major),
    examples: 10,
  });

for (const major of majors) {
  test(`ai ${major}: a tool of one's own gets inputs that its schema accepts`, async () => {
    const reads =
      () =>
      async ({ city, days }) => ({ text: city.toUpperCase().slice(0, 2), days: days.toFixed(0) });
    const { verdict, conversations } = await judgedTool(major, reads);
    assert.equal(verdict, 'clean');
    assert.ok(conversations.calls > 5);
  });
  test(`ai ${major}: what a tool of one's own writes is found`, async () => {
    const writes = () => async (input) => {
      input.city = input.city.trim().toUpperCase();
      return { ok: true };
    };
    const found = await judgedTool(major, writes);
    assert.deepEqual(kindsOf(found), ['write']);
    assert.equal(found.findings[0].place, 'input.city');
  });
}
test('a JSON schema of the SDK serves as well, without a validation of its own', async () => {
  const sdk = await import(join(project(6), 'node_modules/ai/dist/index.mjs'));
  const inputSchema = sdk.jsonSchema({
    type: 'object',
    properties: { path: { type: 'string', pattern: '^/[a-z]+$' } },
    required: ['path'],
  });
  const execute = async ({ path }) => path.slice(1);
  const hooks = () => ({ execute: { inputSchema, execute } });
  const found = await report({ at: 'execute', hooks, project: project(6), examples: 10 });
  assert.equal(found.verdict, 'clean', JSON.stringify(found.findings[0]?.message));
});
