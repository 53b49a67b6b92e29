// Recorded conversations: in the format of this project, or as the framework's own messages.
import { readFileSync } from 'node:fs';
import { UsageError } from './files.js';

/** The conversations in `file`: one, a list of them, or a list of the framework's messages. */
export function recordedIn(file, adapter) {
  const value = parsed(file);
  const all = Array.isArray(value) && value[0]?.role === undefined ? value : [value];
  return all.map((item, index) => conversationOf(item, `${file} ${index}`, adapter));
}

function parsed(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`--from ${file}: ${error.message}`);
  }
}

function conversationOf(item, place, adapter) {
  if (
    Array.isArray(item?.turns) &&
    item.turns.every(({ messages, answers }) => messages?.length > 0 && answers?.length > 0)
  )
    return { ...item, name: item.name ?? place };
  const messages = Array.isArray(item) ? item : item?.messages;
  if (!Array.isArray(messages) || !messages.every((message) => typeof message?.role === 'string'))
    throw new UsageError(
      `--from ${place}: neither a conversation with turns nor a list of messages with roles`,
    );
  if (!adapter.neutral)
    throw new UsageError(
      `--from ${place}: the adapter cannot read messages of the framework; write a conversation with turns`,
    );
  return talkOf(adapter.neutral(messages), place);
}

/** A conversation of neutral messages: those up to the last of the user are the caller's, the rest are answers. */
export function talkOf({ instructions, messages }, name) {
  const turns = [];
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (last < 0) throw new UsageError(`--from ${name}: there is no message of a user`);
  const answers = messages.slice(last + 1).map(({ parts }) => ({ parts }));
  const closing = answers.at(-1)?.parts.some(({ type }) => type === 'call') !== false;
  turns.push({
    messages: messages.slice(0, last + 1),
    answers: closing ? [...answers, { parts: [{ type: 'text', text: 'done' }] }] : answers,
  });
  return { format: 1, name, ...(instructions === undefined ? {} : { instructions }), turns };
}
