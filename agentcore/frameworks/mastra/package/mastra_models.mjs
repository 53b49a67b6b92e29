// Scripted models of every version of the language model interface, and scripted tools.
import { moments } from './lines.mjs';

const FLAT = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const NESTED = {
  inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: undefined, reasoning: undefined },
};

// `called(name, method, options)` is told of every call and gives the parts of the answer.
export function makeModel({ id, version }, called) {
  const flat = version === 'v1' || version === 'v2';
  const usage = () => structuredClone(flat ? FLAT : NESTED);
  const finish = (parts) => {
    const reason = parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
    return flat ? reason : { unified: reason, raw: undefined };
  };
  return {
    specificationVersion: version,
    provider: 'scripted',
    modelId: id,
    supportedUrls: {},
    async doGenerate(options) {
      const parts = answer(called(id, 'doGenerate', options));
      return { content: parts.map(generated), finishReason: finish(parts), usage: usage(), warnings: [] };
    },
    async doStream(options) {
      const parts = answer(called(id, 'doStream', options));
      const chunks = [{ type: 'stream-start', warnings: [] }, ...parts.flatMap(streamed), { type: 'finish', finishReason: finish(parts), usage: usage() }];
      return { stream: new ReadableStream({ start: (controller) => { chunks.forEach((chunk) => controller.enqueue(chunk)); controller.close(); } }) };
    },
  };
}

function answer(parts) {
  const failure = parts.find(({ type }) => type === 'throw');
  if (failure !== undefined) throw new Error(failure.message);
  return structuredClone(parts);
}

function generated(part) {
  return part.type === 'tool-call' ? { ...part, input: JSON.stringify(part.input) } : part;
}

function streamed(part, index) {
  if (part.type === 'tool-call') return [generated(part)];
  const id = `part-${index}`;
  return [
    { type: `${part.type}-start`, id },
    { type: `${part.type}-delta`, id, delta: part.text },
    { type: `${part.type}-end`, id },
  ];
}

// `called(name, input)` is told of every run of the tool.
export function makeTool(sdk, name, spec, called) {
  return sdk.createTool({
    id: name,
    description: spec.description ?? name,
    inputSchema: sdk.looseObject,
    execute: async (input) => {
      called(name, input);
      if (spec.mutateInput !== undefined) Object.assign(input, structuredClone(spec.mutateInput));
      if (spec.takes) await moments(spec.takes);
      if (spec.error !== undefined) throw new Error(spec.error);
      return structuredClone(spec.output);
    },
  });
}
