// The model and the tools of a program, as the SDK wants them.
import { moments } from './lines.mjs';
import { record } from './strands_ts_places.mjs';

const MODEL_CALLS = 25;

export const stopReasonOf = (blocks) => (blocks.some((block) => 'toolUse' in block) ? 'toolUse' : 'endTurn');

export function makeModel(run) {
  return new (class extends run.sdk.Model {
    updateConfig() {}
    getConfig() {
      return { modelId: 'scripted' };
    }
    async countTokens() {
      return 0;
    }
    stream(messages, options) {
      return answer(run, messages, options);
    }
  })();
}

async function* answer(run, messages, { systemPrompt, toolSpecs, toolChoice, modelState }) {
  const { shapes, trace: { calls } } = run;
  const name = `model#${calls.length}`;
  run.log(name);
  if (calls.length === MODEL_CALLS) run.tooLong(`more than ${MODEL_CALLS} model calls`);
  const entry = run.program.script?.[calls.length] ?? [{ text: '(end)' }];
  const { blocks = [], ...said } = Array.isArray(entry) ? { blocks: entry } : entry;
  calls.push({
    messages: shapes.messages.show(messages),
    system: plainSystem(shapes.system.show(systemPrompt)),
    toolSpecs: shapes.toolSpecs.show(toolSpecs),
    toolChoice: toolChoice === undefined ? null : shapes.json.show(toolChoice),
    modelState: modelState.getAll(),
  });
  run.editAll(name, given(shapes, { messages, system: systemPrompt, toolSpecs, toolChoice }), said.mutate);
  for (const [key, value] of Object.entries(said.modelState ?? {})) modelState.set(key, value);
  for (const key of said.modelStateDelete ?? []) modelState.delete(key);
  if (said.throw !== undefined) throw new Error(said.throw);
  yield* spoken(blocks, said.stopReason ?? stopReasonOf(blocks));
  if (said.throwAfter !== undefined) throw new Error(said.throwAfter);
}

// What a provider is given; it can change what it holds, not hold something else.
function given({ messages, system, toolSpecs, dictionary }, native) {
  const fixed = { fixed: true };
  return { shape: record({ messages: [messages, fixed], system: [system, fixed], toolSpecs: [toolSpecs, fixed], toolChoice: [dictionary, fixed] }), native };
}

// A prompt of one text is the same to a model as the text.
const plainSystem = (shown) => (Array.isArray(shown) && shown.length === 1 && 'text' in shown[0] ? shown[0].text : shown);

function* spoken(blocks, stopReason) {
  yield { type: 'modelMessageStartEvent', role: 'assistant' };
  for (const { text, toolUse, reasoning } of blocks) {
    yield { type: 'modelContentBlockStartEvent', ...(toolUse && { start: { type: 'toolUseStart', name: toolUse.name, toolUseId: toolUse.toolUseId } }) };
    if (text !== undefined) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
    if (toolUse) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: JSON.stringify(toolUse.input) } };
    if (reasoning) yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'reasoningContentDelta', ...reasoning } };
    yield { type: 'modelContentBlockStopEvent' };
  }
  yield { type: 'modelMessageStopEvent', stopReason };
}

export function makeTool(run, name, { output = null, outputs = [output], description = `tool ${name}`, inputSchema = { type: 'object', properties: {} }, ...tool }) {
  const { json, toolResult } = run.shapes;
  const inside = record({ input: [json, { fixed: true }] });
  let runs = 0;
  return new (class extends run.sdk.Tool {
    name = name;
    description = description;
    toolSpec = { name, description, inputSchema: structuredClone(inputSchema) };
    // eslint-disable-next-line require-yield -- the SDK wants a generator
    async *stream({ toolUse, invocationState }) {
      const { toolUseId } = toolUse;
      run.log(`tool:${name}`);
      run.trace.toolRuns.push({ name, toolUseId, input: json.show(toolUse.input), invocationState: json.show(invocationState) });
      const result = outputs[Math.min(runs++, outputs.length - 1)];
      Object.assign(invocationState, structuredClone(tool.setInvocationState ?? {}));
      try {
        run.editAll(`tool:${name}`, { shape: inside, native: toolUse }, tool.mutateInput);
        if (tool.throw !== undefined) throw new Error(tool.throw);
      } finally {
        if (tool.takes) await moments(tool.takes);
      }
      return toolResult.make({ toolUseId, ...resultOf(result) });
    }
  })();
}

function resultOf(output) {
  if (typeof output === 'string') return { status: 'success', content: [{ text: output }] };
  if (Array.isArray(output?.content)) return { status: output.status ?? 'success', content: output.content };
  return { status: 'success', content: [{ json: output }] };
}
