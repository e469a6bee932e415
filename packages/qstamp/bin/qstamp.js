#!/usr/bin/env node
import { runAsProcess } from '../dist/src/cli/process.js';

await runAsProcess(process);
