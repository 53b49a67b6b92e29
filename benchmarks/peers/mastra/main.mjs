// @mastra/core: Agent.generate.
process.env.MASTRA_TELEMETRY_DISABLED = '1';
const { DONE, messages, REMINDER, TOOL, TOOL_DOES, serve, Unsupported } = await import('../serving.mjs');
const { Agent } = await import('@mastra/core/agent');
const { createTool } = await import('@mastra/core/tools');
const { z } = await import('zod');

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function makeModel(script) {
  const answer = ({ prompt }) => {
    const number = script.call(prompt.length);
    if (number === undefined) return [[{ type: 'text-start', id: 'text' }, { type: 'text-delta', id: 'text', delta: DONE }, { type: 'text-end', id: 'text' }], 'stop'];
    return [[{ type: 'tool-call', toolCallId: `call-${number}`, toolName: TOOL, input: `{"q":${number}}` }], 'tool-calls'];
  };
  return {
    specificationVersion: 'v2',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate(options) {
      const [[{ delta, ...part }], finishReason] = answer(options);
      return { content: [finishReason === 'stop' ? { type: 'text', text: DONE } : part], finishReason, usage, warnings: [] };
    },
    async doStream(options) {
      const [parts, finishReason] = answer(options);
      const chunks = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
      return { stream: new ReadableStream({ start: (controller) => { for (const chunk of chunks) controller.enqueue(chunk); controller.close(); } }) };
    },
  };
}

// A returned list of messages would stay in the conversation; system messages are the step's.
const reminded = ({ systemMessages }) => ({ systemMessages: [...systemMessages, { role: 'system', content: REMINDER }] });

serve({
  prepare(task, script) {
    if (task.keep) throw new Unsupported('it keeps no states of a run');
    const look = createTool({
      id: TOOL,
      description: TOOL_DOES,
      inputSchema: z.object({ q: z.number() }),
      execute: async ({ q }) => script.look(q),
    });
    const agent = new Agent({ id: 'agent', name: 'agent', instructions: '', model: makeModel(script), tools: { [TOOL]: look } });
    const given = messages(task).map(({ role, text }) => ({ role, content: text }));
    const options = { maxSteps: task.steps + 1, ...(task.override ? { prepareStep: reminded } : {}) };
    return async () => {
      const result = await agent.generate(given, options);
      return { text: result.text, kept: result };
    };
  },
});
