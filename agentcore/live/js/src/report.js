// Findings as data (schemas/findings.schema.json), made from what the child answered.
import { relative } from 'node:path';
import { KINDS } from './options.js';
import { isFor } from './suppress.js';
import { testCase } from './testcase.js';
import { manifest } from './tools.js';

/** The report of a check. */
export function reportOf({ task, options, answer, notJudged, suppressions = [], boundary }) {
  const findings = answer
    ? [...deaths(answer, task), ...answer.groups].map((group) =>
        finding(group, { task, options, answer, boundary }),
      )
    : [];
  const used = suppress(findings, suppressions, task);
  for (const found of findings)
    found.counts_for_verdict =
      found.suppressed === null && (options.kinds === undefined || options.kinds.includes(found.kind));
  findings.sort((one, other) => rank(one) - rank(other));
  const refusal = notJudged ?? (answer && refused(answer, task));
  const verdict = verdictOf(findings, refusal);
  return {
    format: 1,
    verdict,
    exit: exitOf(verdict, options.failOn ?? 'fault'),
    not_judged: (verdict === 'fault' && refusal?.own ? undefined : plainRefusal(refusal)) ?? null,
    tool: { name: 'agentcore check-hook', version: manifest.version, language: 'javascript' },
    framework: {
      name: task.framework,
      version: task.version ?? null,
      resolved_from: task.resolvedFrom ?? null,
      paths: task.paths ?? [],
    },
    hook: { name: task.name ?? task.at, file: task.shown ?? null, at: task.at },
    seed: task.seed,
    conversations: countsOf(answer),
    measures: { prefix: prefix(answer, task) },
    findings,
    suppressions: { unused: suppressions.filter((each) => !used.has(each) && !each.foreign).map(plain) },
  };
}

const plainRefusal = (refusal) => refusal && { reason: refusal.reason, message: refusal.message };

const rank = ({ severity, counts_for_verdict: counts }) => (severity === 'fault' ? 0 : 2) + (counts ? 0 : 1);

function verdictOf(findings, refusal) {
  const counting = findings.filter((found) => found.counts_for_verdict);
  if (counting.some(({ severity }) => severity === 'fault')) return 'fault';
  if (refusal) return null;
  return counting.length > 0 ? 'note' : 'clean';
}

function exitOf(verdict, failOn) {
  if (verdict === null) return 3;
  return verdict === 'fault' || (verdict === 'note' && failOn === 'note') ? 1 : 0;
}

function countsOf(answer) {
  const { run, judged, errors, calls } = answer?.counts ?? { run: 0, judged: 0, errors: 0, calls: 0 };
  const lost = answer?.deaths?.length ?? 0;
  return { run: run + lost, judged, errors: errors + lost, calls };
}

function refused({ counts, makers, foreign, foreignError, outside, unrecorded }, task) {
  const most = counts.run / 2;
  if (makers > 0 && makers === counts.calls)
    return {
      reason: 'no-hook',
      message: `${task.name ?? task.at} returns a hook whenever it is called: it makes the hook and is none; use --factory, or call it in hooks: () => ({ ... })`,
    };
  if (unrecorded > most)
    return {
      reason: 'no-prompt',
      message: `${unrecorded} of ${counts.run} conversations recorded no prompt: the scripted model was not called; the adapter does not fit ${task.framework} ${task.version ?? ''}`,
    };
  if (foreign > most)
    return {
      reason: 'errors',
      message: `${foreign} of ${counts.run} conversations failed ${foreignError.when}: ${foreignError.name}: ${foreignError.message}`,
    };
  if (outside && counts.errors > most) return { reason: 'needs-outside', message: outside.message };
  // Errors of the hook's own are findings; they leave nothing to judge only if these do not count.
  if (counts.errors > most)
    return {
      own: true,
      reason: 'errors',
      message: `${counts.errors} of ${counts.run} conversations ended in errors of the hook's own`,
    };
  if (counts.run > 0 && counts.calls === 0)
    return {
      reason: 'no-call',
      message: `${task.framework} ${task.version ?? ''} never called the hook at ${task.at}`,
    };
  return undefined;
}

function prefix(answer, task) {
  const measured = answer?.prefix;
  if (!measured || measured.of === 0) return null;
  const share = (lost, of) => (of === 0 ? 0 : Math.round((lost / of) * 10000) / 10000);
  const { broken } = measured;
  return {
    with_hook: share(measured.lost, measured.of),
    without_hook: share(measured.plainLost, measured.plainOf),
    broken_by: broken
      ? `${task.name ?? task.at}: message ${broken.message} of the prompt differs at turn ${broken.turn}, step ${broken.step}`
      : null,
    conversation: broken?.name ?? null,
  };
}

// Conversations that ended the process, by cause.
function deaths({ deaths: ended }, task) {
  const causes = new Map();
  for (const death of ended)
    causes.has(death.cause) ? causes.get(death.cause).push(death) : causes.set(death.cause, [death]);
  return [...causes].map(([cause, all]) => ({
    kind: 'raises',
    cause,
    key: `raises ${cause}`,
    count: all.length,
    message: all[0].message,
    seen: [],
    places: [],
    talk: task.talkOf(all[0].index),
    path: task.paths[all[0].index % task.paths.length],
    paths: [...new Set(all.map(({ index }) => task.paths[index % task.paths.length]))],
  }));
}

function finding(group, { task, options, answer, boundary }) {
  const { kind, cause = null, write, first, frame, talk, path } = group;
  const place = write?.place ?? group.place ?? null;
  const of = countsOf(answer).run;
  const hook =
    group.call?.name && group.call.name !== task.at
      ? `${task.name ?? task.at}.${group.call.name}`
      : (task.name ?? task.at);
  const line = frame
    ? {
        file: options.showFile?.(frame.file) ?? relative(process.cwd(), frame.file),
        line: frame.line,
        column: frame.column,
      }
    : null;
  return {
    kind,
    severity: KINDS[kind],
    counts_for_verdict: true,
    message: messageOf(group, { hook, place, task }),
    cause,
    place,
    places: group.places,
    before: write?.before ?? null,
    after: write?.after ?? null,
    line,
    seen: Object.keys(HOLDERS).filter((holder) => group.seen.includes(holder)),
    first_seen: first
      ? { holder: first.holder, turn: first.turn, step: first.step ?? null, place: first.place }
      : null,
    step: group.call?.step ?? null,
    turn: group.call?.turn ?? null,
    hook,
    counts: { affected: group.count, of, text: `${group.count} of ${of}` },
    paths: group.paths,
    conversation: talk,
    test: talk && task.testable !== false ? testCase({ ...task, kind, talk, path }) : null,
    ...(group.runs ? { runs: group.runs } : {}),
    remedy: remedyOf(kind, boundary),
    fingerprint: [kind, task.name ?? task.at, task.at, (place ?? '').replace(/\[\d+\]/g, '[*]')].join(':'),
    suppressed: null,
  };
}

const HOLDERS = {
  'this-prompt': 'the prompt of this step',
  'next-prompt': 'the next prompt',
  'later-prompts': 'later prompts',
  'later-runs': 'later runs',
  caller: "the caller's messages",
  result: 'the result',
  steps: 'the records of steps',
  store: 'the store',
  observers: 'observers',
};

const MESSAGES = {
  write: ({ write, seen }, { hook, place }) =>
    `${hook} writes to ${place}${write.own ? ', an object that it had returned before,' : ''}${write.late ? ' after it has returned' : ''}; seen by ${Object.keys(
      HOLDERS,
    )
      .filter((holder) => seen.includes(holder))
      .map((holder) => HOLDERS[holder])
      .join(', ')}`,
  accumulates: ({ piece }, { hook, task }) =>
    `${task.framework} ${task.version ?? ''} keeps what ${hook} adds, and ${hook} adds it again at each step: ${piece}`,
  raises: (group, { hook }) => raisesText(group, hook),
  'cuts-pair': ({ alone, place }, { hook }) =>
    `${hook} leaves the ${alone.is} ${alone.id} without its ${alone.is === 'call' ? 'result' : 'call'} at ${place}`,
  'loses-request': (_, { hook }) => `${hook} leaves nothing of the user's current request in the prompt`,
  'harmless-write': (_, { hook, place, task }) =>
    `${hook} writes to ${place}; nobody sees it in ${task.framework} ${task.version ?? ''}`,
  'not-isolated': (_, { hook, place }) => `${hook} writes through a handle at ${place}; nobody sees it`,
  undetermined: ({ why }, { hook }) =>
    `${hook} cannot be judged in full: ${why ?? 'its runs with the same seed differ, because it draws on something that no seed reaches'}`,
  opaque: ({ type, place }, _) =>
    `${place} holds a ${type}, which can be neither copied nor compared: writes to it are not seen`,
  'not-idempotent': (_, { hook }) => `${hook} changes what it returned when it is given that again`,
};

const messageOf = (group, about) => MESSAGES[group.kind](group, about);

function raisesText({ cause, error, message }, hook) {
  if (message) return `${hook} ${message}`;
  if (cause === 'refused') return `the framework refuses what ${hook} made: ${error.name}: ${error.message}`;
  if (cause === 'hangs') return `${hook} hangs: ${error.message}`;
  return `${hook} raises ${error.name}: ${error.message}`;
}

const REMEDIES = {
  accumulates: 'add it only if it is not there yet, or take out the old one first',
  raises: 'handle this conversation, or pass what the hook needs with --factory',
  'cuts-pair': 'cut before a message of the user, and keep a call together with its result',
  'loses-request': 'keep the last message of the user',
  undetermined:
    'draw on Math.random, crypto or Date, which are seeded here, or pass the source in with --factory',
  opaque: 'keep plain data in messages',
  'not-idempotent': 'add only what is not there yet',
};

const remedyOf = (kind, boundary) =>
  REMEDIES[kind] ?? boundary?.mend ?? 'return new objects, and leave those of the arguments as they are';

const plain = ({ kind, for: range, reason, file, line }) => ({ kind, for: range, reason, file, line });

function suppress(findings, suppressions, task) {
  const used = new Set();
  for (const found of findings) {
    const suppression = suppressions.find((each) => each.holds(task) && isFor(each, found));
    if (!suppression) continue;
    used.add(suppression);
    found.suppressed = plain(suppression);
  }
  return used;
}
