// Runs programs (spec/program-format-processors.md) on the Agent of @mastra/core 1.0.
import '../mastra_world.mjs';
import { createRequire } from 'node:module';
import { Agent, MessageList } from '@mastra/core/agent';
import { RequestContext } from '@mastra/core/request-context';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { drive } from '../mastra.mjs';

drive({
  Agent,
  MessageList,
  RequestContext,
  createTool,
  version: createRequire(import.meta.url)('@mastra/core/package.json').version,
  looseObject: z.object({}).passthrough(),
});
