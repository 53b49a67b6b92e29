#!/usr/bin/env node
import { main } from '../src/command.js';

process.exitCode = await main(process.argv.slice(2));
