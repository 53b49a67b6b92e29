// generateText and streamText of ai@6.
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { drive } from '../ai_sdk.mjs';

drive({
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
  specificationVersion: 'v3',
  stepInput: ({ messages }) => messages,
});
