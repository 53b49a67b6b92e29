// Runs programs (spec/program-format-middleware.md) on the real Agent of @strands-agents/sdk 1.5.0.
import * as sdk from '@strands-agents/sdk';
import { z } from 'zod';
import { drive } from '../strands_ts.mjs';

const { AgentStreamStage, ExecuteToolStage, InvokeModelStage } = sdk;

drive({ ...sdk, z, version: '1.5.0', stages: { model: InvokeModelStage, tool: ExecuteToolStage, stream: AgentStreamStage } });
