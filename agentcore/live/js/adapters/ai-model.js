// A scripted model in the form that each major version of the AI SDK expects.

export const major = (version) => Number.parseInt(version, 10);

/** A model that records prompts in `session` and says what the session answers. */
export function model(session, version) {
  const respond = async ({ prompt }) => spoken((await session.answer(prompt)).parts, version);
  return {
    specificationVersion: { 5: 'v2', 6: 'v3', 7: 'v4' }[major(version)],
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: async (options) => ({ ...(await respond(options)), warnings: [] }),
    doStream: async (options) => ({ stream: chunks(await respond(options)) }),
  };
}

function spoken(answer, version) {
  const content = answer.map((part) =>
    part.type === 'call'
      ? { type: 'tool-call', toolCallId: part.id, toolName: part.tool, input: JSON.stringify(part.input) }
      : part,
  );
  const reason = answer.some(({ type }) => type === 'call') ? 'tool-calls' : 'stop';
  if (major(version) === 5)
    return { content, finishReason: reason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
  return {
    content,
    finishReason: { unified: reason, raw: reason },
    usage: { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } },
  };
}

function chunks({ content, finishReason, usage }) {
  const of = (part, id) =>
    part.type === 'tool-call'
      ? [part]
      : [
          { type: `${part.type}-start`, id },
          { type: `${part.type}-delta`, id, delta: part.text },
          { type: `${part.type}-end`, id },
        ];
  const all = [
    { type: 'stream-start', warnings: [] },
    ...content.flatMap((part, index) => of(part, String(index))),
    { type: 'finish', finishReason, usage },
  ];
  return new ReadableStream({
    start: (controller) => {
      all.forEach((chunk) => controller.enqueue(chunk));
      controller.close();
    },
  });
}
