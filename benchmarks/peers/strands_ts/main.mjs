// @strands-agents/sdk: Agent.invoke, in its best light, which is without spans: it serializes every message into the
// events of a span at each model call, also when nobody traces it; that is patched out. `keep` takes a snapshot before
// every model call.
import { Agent, BeforeModelCallEvent, InvokeModelStage, Message, Model, NullConversationManager, TextBlock, tool } from '@strands-agents/sdk';
import { z } from 'zod';
import { DONE, messages, REMINDER, TOOL, TOOL_DOES, serve } from '../serving.mjs';

class Scripted extends Model {
  constructor(script) {
    super();
    this.script = script;
  }
  updateConfig() {}
  getConfig() {
    return { modelId: 'scripted' };
  }
  async countTokens() {
    return 0;
  }
  async *stream(given) {
    const number = this.script.call(given.length);
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    if (number === undefined) {
      yield { type: 'modelContentBlockStartEvent' };
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: DONE } };
    } else {
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name: TOOL, toolUseId: `call-${number}` } };
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: `{"q":${number}}` } };
    }
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: number === undefined ? 'endTurn' : 'toolUse' };
  }
}

// The variant `gated` makes no copies of messages, as the SDK could where no handler is registered.
const { clone } = Message.prototype;
function same() { return this; }

const message = (role, text) => new Message({ role, content: [new TextBlock(text)] });

function makeAgent(task, script, history) {
  Message.prototype.clone = task.variant === 'gated' ? same : clone;
  const look = tool({ name: TOOL, description: TOOL_DOES, inputSchema: z.object({ q: z.number() }), callback: ({ q }) => script.look(q) });
  const agent = new Agent({
    model: new Scripted(script),
    messages: history,
    tools: [look],
    conversationManager: new NullConversationManager(),
    printer: false,
  });
  if (task.override) {
    agent.addMiddleware(InvokeModelStage.Input, async (context) => ({ ...context, messages: [...context.messages, message('user', REMINDER)] }));
  }
  if (task.handler) {
    agent.addMiddleware(InvokeModelStage, async function* passOn(context, next) { return yield* next(context); });
  }
  Object.getPrototypeOf(agent._tracer)._addEventMessages = () => {};
  return agent;
}

function snapshots(agent) {
  const taken = [];
  agent.addHook(BeforeModelCallEvent, () => { taken.push(agent.takeSnapshot({ preset: 'session' })); });
  return taken;
}

function start(task, script) {
  const given = messages(task);
  const prompt = given.pop().text;
  return [makeAgent(task, script, given.map(({ role, text }) => message(role, text))), prompt];
}

serve({
  prepare(task, script) {
    const [agent, prompt] = start(task, script);
    const taken = task.keep ? snapshots(agent) : [];
    return async () => {
      const result = await agent.invoke(prompt);
      return { text: result.lastMessage.content[0].text, kept: [agent, result, taken] };
    };
  },

  async forks(task, script) {
    const [agent, prompt] = start(task, script);
    const taken = snapshots(agent);
    await agent.invoke(prompt);
    const middle = taken[Math.floor(task.steps / 2)];
    return {
      fork(number) {
        const other = makeAgent(task, script, []);
        other.loadSnapshot(middle);
        other.messages.push(message('user', `${REMINDER} ${number}`));
        return other;
      },
      length: (other) => other.messages.length,
    };
  },
});
