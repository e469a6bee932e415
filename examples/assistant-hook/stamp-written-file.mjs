#!/usr/bin/env node
/**
 * A hook of a coding assistant: stamps each file that the assistant has written, and keeps the stamps in .qstamp/stamps.jsonl of the project.
 * It gets the event as JSON on standard input, as Claude Code (PostToolUse) and Cursor (afterFileEdit) send it. See README.md.
 */
import { appendFile, mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { Qstamp } from 'qstamp-client';

const { QSTAMP_URL: url = 'http://127.0.0.1:8080', CLAUDE_PROJECT_DIR } = process.env;

try {
  /** @type {any} */
  const event = await json(process.stdin);
  const written = event.tool_input?.file_path ?? event.tool_input?.notebook_path ?? event.file_path;
  if (typeof written === 'string') await stampFile(written, event);
} catch (error) {
  // Not 2: the assistant shall go on, and the person be told.
  console.error(`not stamped: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

/** @param {string} written @param {any} event */
async function stampFile(written, event) {
  const project = CLAUDE_PROJECT_DIR ?? event.workspace_roots?.[0] ?? event.cwd ?? process.cwd();
  const path = resolve(event.cwd ?? project, written);
  const session = String(event.session_id ?? event.conversation_id ?? '');
  // An assistant waits for its hooks: better one try more than a minute.
  const qstamp = new Qstamp({ url, timeout: 15_000, maxRetries: 1, maxWait: 5_000 });
  const stamp = await qstamp.stampFile(path, { metadata: { session } });
  const line = { file: relative(project, path), session, stamp };
  await mkdir(join(project, '.qstamp'), { recursive: true });
  await appendFile(join(project, '.qstamp/stamps.jsonl'), `${JSON.stringify(line)}\n`);
}
