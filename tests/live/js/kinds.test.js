// The kinds that are easily judged wrong, and the rules about messages.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import os from 'node:os';
import test from 'node:test';
import timers from 'node:timers';
import { setTimeout as wait } from 'node:timers/promises';
import { judged, kindsOf, picked, project, report } from './setup.js';

const textOf = (text) => ({ role: 'user', content: [{ type: 'text', text }] });

// An object of the hook's own, returned at each step and edited at the next: the framework keeps it in 7, and not in 6.
const template = () => {
  const own = textOf('');
  return ({ messages, stepNumber }) => {
    own.content[0].text = `step ${stepNumber}`;
    return { messages: [...messages, own] };
  };
};

test('a template object that is edited later is clean on ai 6', async () =>
  assert.equal((await judged(template, 6)).verdict, 'clean'));
test('a template object that is edited later is a write on ai 7', async () => {
  const report = await judged(template, 7);
  assert.deepEqual(kindsOf(report), ['accumulates', 'write']);
  assert.ok(report.findings.find(({ kind }) => kind === 'write').seen.includes('later-prompts'));
});

test('an object that is only ever returned is a write when it is edited at a later call, where the framework keeps it', async () => {
  const once = () => {
    const own = textOf('early');
    return ({ messages, stepNumber }) => {
      if (stepNumber === 0) return { messages: [...messages, own] };
      own.content[0].text += ' and late';
      return undefined;
    };
  };
  assert.equal((await judged(once, 6)).verdict, 'clean');
  const report = await judged(once, 7);
  assert.deepEqual(kindsOf(report), ['write']);
  assert.match(report.findings[0].line.file, /kinds\.test\.js$/);
});

const LATER = {
  'a timer': (work) => setTimeout(work, 1),
  'a timer of seconds': (work) => setTimeout(work, 2000),
  'a timer that outlasts the run': (work) => setTimeout(work, 60_000),
  'a timer of node:timers': (work) => timers.setTimeout(work, 20),
  'a wait': (work) => void wait(300).then(work),
  'an interval': (work) => {
    const interval = setInterval(() => (clearInterval(interval), work()), 50);
  },
  'a promise': (work) => void Promise.resolve().then(work),
  'the next turn of the loop': (work) => setImmediate(work),
};
for (const [how, later] of picked(Object.entries(LATER), 1)) {
  test(`a write after the hook has returned, by ${how}, is a fault with its place`, async () => {
    const late =
      () =>
      ({ messages }) => {
        later(() => {
          for (const { role, content } of messages)
            if (role === 'user' && Array.isArray(content)) content[0].text += ' late';
        });
      };
    const report = await judged(late, 6);
    assert.deepEqual(kindsOf(report), ['write']);
    assert.match(report.findings[0].place, /^messages\[\d+\]\.content\[0\]\.text$/);
    assert.ok(report.findings[0].seen.includes('caller'));
  });
}

const listsOf = (messages) => messages.filter(({ content }) => Array.isArray(content));
const together = (name, writes) => () => {
  let kept = [];
  return {
    prepareStep({ messages }) {
      kept = listsOf(messages);
    },
    [name]: (event) => writes(kept, event),
  };
};
const note = (kept) => kept.forEach(({ content }) => (content[0].note = 'kept'));
for (const name of picked(['onStepFinish', 'onFinish', 'onInputAvailable', 'stopWhen'], 1))
  test(`a reference that prepareStep keeps and ${name} of the same object writes to is a fault`, async () => {
    const found = await report({ at: 'prepareStep', hooks: together(name, note), project: project(6) });
    assert.deepEqual(kindsOf(found), ['write']);
    assert.match(found.findings[0].place, /\bmessages\[\d+\]\.content\[0\]\.note$/);
    assert.equal(found.findings[0].hook, `prepareStep.${name}`);
    assert.ok(found.findings[0].seen.includes('caller'));
  });
test('hooks of one object that only read what they keep are clean', async () => {
  const reads = (kept) => kept.length > 100;
  const found = await report({ at: 'prepareStep', hooks: together('onFinish', reads), project: project(6) });
  assert.equal(found.verdict, 'clean');
});

test('a hook that waits for seconds, or guards what it does with a timer, is clean in no time', async () => {
  const slow =
    () =>
    async ({ messages }) => {
      const guard = new Promise((_, no) => setTimeout(no, 30_000, new Error('timed out')));
      const work = wait(1000).then(() => ({ messages: [...messages] }));
      return await Promise.race([work, guard]);
    };
  const started = performance.now();
  const { verdict, conversations } = await judged(slow, 6);
  assert.equal(verdict, 'clean');
  assert.ok(performance.now() - started < conversations.calls * 1000);
});
test('what one run leaves running does not fire in another', async () => {
  let fired = 0;
  const leaves =
    () =>
    ({ messages }) => {
      setTimeout(() => fired++, 3_600_000);
      const interval = setInterval(() => interval.unref(), 10);
      return { messages };
    };
  assert.equal((await judged(leaves, 6)).verdict, 'clean');
  assert.equal(fired, 0);
});

test('randomness that no seed reaches is a note, and no fault', async () => {
  const report = await judged(
    () =>
      ({ messages }) => ({ messages: [...messages, textOf(`${os.freemem()} ${process.cpuUsage().user}`)] }),
    6,
  );
  assert.deepEqual(kindsOf(report), ['undetermined']);
  assert.equal(report.verdict, 'note');
});
test('what a noisy hook writes is reported all the same', async () => {
  const report = await judged(
    () =>
      ({ messages }) => {
        for (const { content } of messages) if (Array.isArray(content)) content[0].mark = true;
        return { messages: [...messages, textOf(`${os.freemem()} ${process.cpuUsage().user}`)] };
      },
    6,
  );
  assert.ok(
    report.findings.some(
      ({ kind, place }) => ['write', 'harmless-write'].includes(kind) && place.endsWith('.mark'),
    ),
  );
});
test('node:crypto, however imported, and the clock are seeded', async () => {
  const draws =
    () =>
    ({ messages }) => ({
      messages: [
        ...messages,
        textOf(
          `${randomUUID()} ${randomBytes(4).toString('hex')} ${crypto.getRandomValues(new Uint8Array(2))} ${new Date().getTime()} ${performance.now()} ${process.hrtime()}`,
        ),
      ],
    });
  assert.equal((await judged(draws, 6)).verdict, 'clean');
});

test('a write of one of several middlewares is found', async () => {
  const passes = { transformParams: async ({ params }) => params };
  const writes = {
    transformParams: async ({ params }) => {
      for (const { content } of params.prompt)
        if (Array.isArray(content)) for (const part of content) if (part.input) part.input.seen = true;
      return params;
    },
  };
  const { findings } = await report({
    at: 'middleware',
    project: project(6),
    hooks: () => ({ middleware: [passes, writes] }),
    examples: 6,
    shrinking: 0,
  });
  assert.ok(findings.some(({ kind, place }) => kind === 'write' && place.endsWith('.input.seen')));
});
test('a suppression at the line holds in a test, too', async () => {
  const report = await judged(
    () =>
      ({ messages }) => {
        // agentcore: allow write for=ai>=6,<7 -- the note is ours
        messages[0].note = 'x';
      },
    6,
    { examples: 4 },
  );
  assert.equal(report.verdict, 'clean');
  assert.equal(report.findings[0].suppressed.reason, 'the note is ours');
});
test('what is written and put back is clean', async () => {
  const restores =
    () =>
    ({ messages }) => {
      const [first] = messages;
      const { role } = first;
      first.role = 'system';
      first.role = role;
    };
  assert.equal((await judged(restores, 6)).verdict, 'clean');
});
test('a hook that freezes what it returns is clean', async () => {
  const freeze = (value) =>
    typeof value === 'object' && value !== null
      ? (Object.values(value).forEach(freeze), Object.freeze(value))
      : value;
  for (const major of [6, 7])
    assert.equal(
      (
        await judged(
          () =>
            ({ messages }) => ({ messages: freeze(structuredClone(messages)) }),
          major,
        )
      ).verdict,
      'clean',
    );
});
test('a stash of earlier messages that is written later is a fault', async () => {
  const stash = () => {
    const kept = [];
    return ({ messages }) => {
      for (const message of kept) message.note = 'seen';
      kept.push(messages[0]);
    };
  };
  assert.equal((await judged(stash, 6)).verdict, 'fault');
});
test('a write and a return of the same list is a note on ai 6', async () => {
  const report = await judged(
    () =>
      ({ messages }) => {
        messages.push(textOf('x'));
        return { messages };
      },
    6,
  );
  assert.deepEqual(kindsOf(report), ['harmless-write']);
  assert.equal(report.verdict, 'note');
});

test('a cut between a call and its result is found, and the lost request', async () => {
  const report = await judged(
    () =>
      ({ messages }) => ({ messages: messages.slice(-1) }),
    6,
    { examples: 40 },
  );
  assert.deepEqual(kindsOf(report), ['cuts-pair', 'loses-request']);
  for (const { seen } of report.findings) assert.deepEqual(seen, ['this-prompt']);
});
test('keeping pairs and the request together is clean', async () => {
  const trim =
    () =>
    ({ messages }) => {
      const last = messages.findLastIndex(({ role }) => role === 'user');
      return { messages: messages.slice(last) };
    };
  assert.equal((await judged(trim, 6)).verdict, 'clean');
});
test('a request that is redacted or summed up is not lost', async () => {
  const redact =
    () =>
    ({ messages }) => ({
      messages: messages.map((message) =>
        message.role === 'user' ? { ...message, content: '***' } : message,
      ),
    });
  assert.equal((await judged(redact, 6)).verdict, 'clean');
});
test('a hook that throws is named with its line', async () => {
  const report = await judged(
    () =>
      ({ messages }) => {
        if (messages.length > 3) throw new RangeError('too long');
      },
    6,
  );
  assert.equal(report.findings[0].kind, 'raises');
  assert.equal(report.findings[0].cause, 'throws');
  assert.match(report.findings[0].line.file, /kinds\.test\.js$/);
});
test('messages that the framework refuses are its finding', async () => {
  const report = await judged(
    () =>
      ({ messages }) => ({ messages: [...messages, { role: 'nobody', content: 1 }] }),
    6,
  );
  assert.deepEqual([report.findings[0].kind, report.findings[0].cause], ['raises', 'refused']);
});

test('what a write leaves there for the framework to refuse is the fault of the write alone', async () => {
  const found = await report({
    at: 'onStepFinish',
    project: project(6),
    hooks: () => ({
      onStepFinish: ({ response }) => {
        response.messages.length = Math.min(response.messages.length, 1);
      },
    }),
  });
  assert.deepEqual(kindsOf(found), ['write']);
});

// Accumulation: kept and added again, in any form; once, or once for each message, it is none.
const reminder = 'be brief';
const appended = (message) =>
  typeof message.content === 'string' ? { ...message, content: `${message.content} (${reminder})` } : message;
const accumulating = {
  'a message':
    () =>
    ({ messages }) => ({ messages: [...messages, textOf(reminder)] }),
  'a message with a number':
    () =>
    ({ messages, stepNumber }) => ({ messages: [...messages, textOf(`${reminder} at step ${stepNumber}`)] }),
  'a text at the end of another':
    () =>
    ({ messages }) => ({ messages: [appended(messages[0]), ...messages.slice(1)] }),
  'a mark for caching':
    () =>
    ({ messages }) => ({
      messages: messages.map((message, index) =>
        index === messages.length - 1
          ? { ...message, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
          : message,
      ),
    }),
};
const steady = {
  'a message once':
    () =>
    ({ messages }) => ({
      messages: messages.some(({ content }) => content?.[0]?.text === reminder)
        ? messages
        : [...messages, textOf(reminder)],
    }),
  'a message that takes the place of the old one':
    () =>
    ({ messages }) => ({
      messages: [...messages.filter(({ content }) => content?.[0]?.text !== reminder), textOf(reminder)],
    }),
  'a mark that moves':
    () =>
    ({ messages }) => ({
      messages: messages.map((message, index) => ({
        ...message,
        providerOptions:
          index === messages.length - 1 ? { anthropic: { cacheControl: { type: 'ephemeral' } } } : undefined,
      })),
    }),
  'a mark for each message':
    () =>
    ({ messages }) => ({
      messages: messages.map((message) => ({ ...message, providerOptions: { app: { seen: true } } })),
    }),
  'a text at the first step':
    () =>
    ({ messages, stepNumber }) =>
      stepNumber === 0 ? { messages: [...messages, textOf(reminder)] } : undefined,
};
for (const [what, make] of picked(Object.entries(accumulating), 1)) {
  test(`${what} added at each step accumulates on ai 7 and not on ai 6`, async () => {
    const report = await judged(make, 7, { examples: 40 });
    assert.deepEqual(kindsOf(report), ['accumulates']);
    assert.ok(report.findings[0].seen.some((holder) => holder.startsWith('later-')));
    assert.equal((await judged(make, 6)).verdict, 'clean');
  });
}
for (const [what, make] of picked(Object.entries(steady), 1))
  test(`${what} does not accumulate on ai 7`, async () =>
    assert.equal((await judged(make, 7)).verdict, 'clean'));

test('not-idempotent is looked for only where it is asked for', async () => {
  const add = accumulating['a message'];
  assert.equal((await judged(add, 6)).verdict, 'clean');
  assert.deepEqual(kindsOf(await judged(add, 6, { kinds: ['not-idempotent'] })), ['not-idempotent']);
});
test('an object with private state in messages is opaque', async () => {
  class Secret {
    #hidden = 1;
    read() {
      return this.#hidden;
    }
  }
  const add =
    () =>
    ({ messages }) => ({
      messages: messages.some(({ secret }) => secret)
        ? messages
        : [...messages, { ...textOf('x'), secret: new Secret() }],
    });
  assert.ok(kindsOf(await judged(add, 7)).includes('opaque'));
});
