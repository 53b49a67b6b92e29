// Runs programs (spec/program-format.md) on the real generateText and streamText of ai@7.
import { createRequire } from 'node:module';
import { generateText, jsonSchema, stepCountIs, streamText } from 'ai';
import { drive } from '../ai_sdk.mjs';

drive({
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  name: `ai@${createRequire(import.meta.url)('ai/package.json').version}`,
  specificationVersion: 'v4',
  // A step's report holds that step's messages only.
  resultMessages: (steps, responseMessages) => responseMessages,
});
