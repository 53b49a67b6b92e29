// Hooks and adapters that cheat: each has its outcome, in time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { packageFile, project, TOY } from './setup.js';

const folder = mkdtempSync(join(tmpdir(), 'check-hook-liars-'));
after(() => rmSync(folder, { recursive: true, force: true }));
symlinkSync(join(project(6), 'node_modules'), join(folder, 'node_modules'));

const liars = JSON.parse(readFileSync(new URL('liars.json', import.meta.url), 'utf8'));

function check(code, { where = TOY, limit = 10, examples = 6 } = {}) {
  writeFileSync(join(folder, 'hook.mjs'), `export const hook = ${code};`);
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      packageFile('bin/check-hook.js'),
      'hook.mjs#hook',
      ...where,
      '--examples',
      String(examples),
      '--time-limit',
      String(limit),
      '--json',
    ],
    { cwd: folder, encoding: 'utf8' },
  );
  assert.equal(stderr, '');
  return { status, report: JSON.parse(stdout), seconds: (performance.now() - started) / 1000 };
}

// Where the framework has to read what the hook returned: the toy loop only passes it on.
const AI = ['--in', 'ai', '--at', 'prepareStep'];

for (const [what, { code, exit, kind, cause, in: framework }] of Object.entries(liars)) {
  test(`a hook that ${what} is found`, () => {
    // Each conversation that fills the memory does so again.
    const examples = cause === 'out-of-memory' ? 1 : undefined;
    const limit = cause === 'hangs' ? 1.5 : undefined;
    const where = framework === 'ai' ? AI : undefined;
    const { status, report, seconds } = check(code, { where, limit, examples });
    assert.equal(status, exit);
    const seen = report.not_judged
      ? [{ kind: 'not judged', cause: report.not_judged.reason }]
      : report.findings;
    assert.ok(
      seen.some((found) => found.kind === kind && found.cause === cause),
      JSON.stringify(seen.map((found) => [found.kind, found.cause, found.message])),
    );
    assert.ok(seconds < 200, `${seconds} s`);
    for (const name of ['started', 'written']) assert.ok(!existsSync(join(folder, name)));
  });
}
test('a hook that prints without end, or leaves timers running, is judged', () => {
  for (const code of [
    "({ messages }) => { for (let n = 0; n < 200; n++) console.error('x'.repeat(1e4)); return { messages }; }",
    '({ messages }) => { setInterval(() => {}, 5); return { messages }; }',
    "({ messages }) => { process.on('exit', () => {}); process.on('SIGTERM', () => {}); return { messages }; }",
  ]) {
    const { status, report, seconds } = check(code);
    assert.deepEqual([status, report.verdict], [0, 'clean'], JSON.stringify(report.findings));
    assert.ok(seconds < 60, `${seconds} s`);
  }
});
test('a hook that does without the network where it is refused is judged with a note', () => {
  const { status, report } = check(
    "async ({ messages }) => { try { await fetch('http://127.0.0.1:9/'); } catch { return { messages }; } }",
  );
  assert.deepEqual([status, report.verdict, report.findings[0].kind], [0, 'note', 'undetermined']);
});

const { compliance } = await import(packageFile('compliance.js'));
const { checkHook } = await import(packageFile('index.js'));
const { adapter } = await import(packageFile('adapters/skeleton.js'));

/** The skeleton's adapter, with the session or the outcome changed. */
const lying = (change) => ({
  ...adapter,
  run: (session, hook) => change(session, hook, (other = session, own = hook) => adapter.run(other, own)),
});
const proxied = (session, methods) =>
  new Proxy(session, {
    get: (target, name) =>
      methods[name] ?? (typeof target[name] === 'function' ? target[name].bind(target) : target[name]),
  });

const adapters = {
  'records no prompt': lying((session, hook, run) =>
    run(proxied(session, { answer: async () => ({ parts: [{ type: 'text', text: 'x' }] }) })),
  ),
  'never calls the hook': lying((session, hook, run) => run(session, () => undefined)),
  'shows no caller': lying(async (session, hook, run) => ({ ...(await run()), caller: undefined })),
  'is not repeatable': lying(async (session, hook, run) => ({
    ...(await run()),
    result: [
      process.hrtime.bigint().toString(),
      process.cpuUsage().user + Math.floor(process.memoryUsage().heapUsed),
    ],
  })),
};
for (const [what, liar] of Object.entries(adapters)) {
  test(`an adapter that ${what} does not comply`, async () => {
    const { level, checks } = await compliance(liar);
    assert.ok(level < 2, JSON.stringify(checks.filter(({ why }) => why)));
  });
}
test('a model that recorded no prompt is not judged, never clean', async () => {
  const check = checkHook({
    framework: adapters['records no prompt'],
    at: 'beforeModel',
    hooks: () => ({ beforeModel: () => undefined }),
  });
  await assert.rejects(
    check,
    ({ report }) => report.verdict === null && report.not_judged.reason === 'no-prompt',
  );
});
test('a framework that fails without the hook is not judged', async () => {
  const failing = {
    ...adapter,
    run: async () => {
      throw new Error('no dialect');
    },
  };
  await assert.rejects(
    checkHook({ framework: failing, at: 'beforeModel', hooks: () => ({ beforeModel: () => undefined }) }),
    ({ report }) => report.not_judged.reason === 'errors',
  );
});
