// Runs programs (spec/program-format.md) on the real generateText and streamText of ai@6.
import { createRequire } from 'node:module';
import { generateText, jsonSchema, stepCountIs, streamText } from 'ai';
import { drive } from '../ai_sdk.mjs';

drive({
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  name: `ai@${createRequire(import.meta.url)('ai/package.json').version}`,
  specificationVersion: 'v3',
  // Every step's report goes back to the start of the run.
  resultMessages: (steps) => steps.at(-1).response.messages,
});
