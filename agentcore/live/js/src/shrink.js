// Makes a conversation smaller for as long as it shows the same finding.
import { sizeOf } from './conversation.js';
import { clock } from './seeded.js';

// A number of tries, and not the time, ends the search where the machine is not busy: the same check gives the same conversation.
const MOST_TRIES = 100;

/** The smallest sample found within `milliseconds` for which `shows(sample)` resolves to something, with what it resolved to. */
export async function smallest(sample, shows, shown, milliseconds) {
  const end = clock() + milliseconds;
  let best = { sample, shown };
  let tries = 0;
  for (let again = true; again && clock() < end;) {
    again = false;
    for (const candidate of smallerSamples(best.sample)) {
      if (clock() >= end || tries >= MOST_TRIES) break;
      tries++;
      const found = await shows(candidate);
      if (!found) continue;
      best = { sample: candidate, shown: found };
      again = true;
      break;
    }
  }
  return best;
}

// The plain spelling of messages (variant 0) before smaller conversations: a hook may look at one spelling only, and then every
// message that brings it about would stay.
function* smallerSamples(sample) {
  const { talk, variant } = sample;
  if (variant !== 0) yield { ...sample, variant: 0, talk: { ...talk, variant: 0 } };
  const size = sizeOf(talk);
  for (const smaller of smallerThan(talk)) if (sizeOf(smaller) < size) yield { ...sample, talk: smaller };
}

function* smallerThan(talk) {
  const { turns } = talk;
  for (let index = turns.length - 1; index >= 0 && turns.length > 1; index--)
    yield { ...talk, turns: without(turns, index) };
  for (const [index, turn] of turns.entries()) {
    for (const smaller of smallerTurns(turn)) yield { ...talk, turns: turns.with(index, smaller) };
  }
  if (talk.instructions !== undefined) {
    const { instructions: _, ...rest } = talk;
    yield rest;
  }
}

const without = (list, index) => [...list.slice(0, index), ...list.slice(index + 1)];

function* smallerTurns(turn) {
  const { messages, answers } = turn;
  if (messages.length > 2) yield { ...turn, messages: messages.slice(messages.length >> 1) };
  if (answers.length > 2)
    yield { ...turn, answers: [...answers.slice(0, answers.length >> 1), answers.at(-1)] };
  for (let index = 0; index < messages.length - 1; index++)
    yield { ...turn, messages: without(messages, index) };
  for (let index = 0; index < answers.length - 1; index++)
    yield { ...turn, answers: without(answers, index) };
  for (const [index, said] of messages.entries())
    for (const parts of smallerParts(said.parts))
      yield { ...turn, messages: messages.with(index, { ...said, parts }) };
  for (const [index, said] of answers.entries())
    for (const parts of smallerParts(said.parts)) yield { ...turn, answers: answers.with(index, { parts }) };
}

function* smallerParts(parts) {
  if (parts.length > 1) for (let index = 0; index < parts.length; index++) yield without(parts, index);
  for (const [index, part] of parts.entries())
    for (const smaller of smallerPart(part)) yield parts.with(index, smaller);
}

function* smallerPart(part) {
  if (part.type !== 'call') {
    if (part.text?.length > 8)
      yield* [
        part.text.slice(0, 8),
        part.text.slice(0, part.text.length >> 1),
        part.text.slice(part.text.length >> 1),
      ].map((text) => ({ ...part, text }));
    return;
  }
  const { approval: _, ...plain } = part;
  if (part.approval && part.denied === undefined) yield plain;
  if (Object.keys(part.input).length > 0) yield { ...part, input: {} };
  if (part.output !== undefined) yield* smallerValues(part.output).map((output) => ({ ...part, output }));
}

const smallerValues = (value) =>
  ['ok', { ok: true }, ...(Array.isArray(value) ? value : Object.values(Object(value)))].filter(
    (other) => other !== value && typeof other !== 'function',
  );
