// Runs programs (spec/program-format-middleware.md) on the real Agent of @strands-agents/sdk 1.18.0.
import * as sdk from '@strands-agents/sdk';
import { z } from 'zod';
import { drive } from '../strands_ts.mjs';

const { ExecuteToolStage, InvokeModelStage } = sdk;
// This version runs the stage but exports it no more.
const { AgentStreamStage } = await import(new URL('middleware/index.js', import.meta.resolve('@strands-agents/sdk')));

drive({ ...sdk, z, version: '1.18.0', stages: { model: InvokeModelStage, tool: ExecuteToolStage, stream: AgentStreamStage } });
