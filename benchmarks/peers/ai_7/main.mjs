// generateText and streamText of ai@7.
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { drive } from '../ai_sdk.mjs';

drive({
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
  specificationVersion: 'v4',
  // A returned list would be what later steps begin with.
  stepInput: ({ initialMessages, responseMessages }) => [...initialMessages, ...responseMessages],
});
