import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { createClient } from '../../src/cli/client.ts';
import type { Command } from '../../src/cli/command.ts';
import { helpFor, parseCommandLine } from '../../src/cli/command-line.ts';
import { createTerminal } from '../../src/cli/terminal.ts';

/** An address without a server. */
const nowhere = 'http://127.0.0.1:9';

export interface Surroundings {
  readonly url?: string;
  readonly serviceToken?: string | undefined;
  readonly stdin?: string;
  /** The answer of a person to each question; undefined: there is no person. */
  readonly answer?: string;
}

/** A folder with these files until the test ends. Its commands run like a process but in this one, because a start costs more than most commands. */
export function folderWith(commands: readonly Command[], files: Readonly<Record<string, string | Uint8Array>>, usual: Surroundings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = (name: string) => join(folder, name);
  for (const [name, content] of Object.entries(files)) writeFileSync(path(name), content);
  async function run(line: readonly string[], surroundings: Surroundings = {}) {
    const { url = nowhere, serviceToken, stdin = '', answer } = { ...usual, ...surroundings };
    const asked: string[] = [];
    let stdout = '';
    let stderr = '';
    const sink = (take: (text: string) => void) => new Writable({ write: (chunk, _encoding, done) => done(void take(String(chunk))) });
    const terminal = createTerminal({
      json: line.includes('--json'),
      quiet: line.includes('--quiet'),
      help: helpFor(line, commands),
      environment: {},
      stdout: sink((printed) => (stdout += printed)),
      stderr: sink((printed) => (stderr += printed)),
    });
    const context = {
      terminal,
      connect: () => createClient({ baseUrl: url, serviceToken }),
      ask: async (question: string) => {
        asked.push(question);
        return answer;
      },
      stdin: (async function* () {
        yield Buffer.from(stdin);
      })(),
      anchorsFolder: path('config/qstamp/anchors'),
    };
    let code: number;
    try {
      process.chdir(folder);
      const parsed = parseCommandLine(line, commands);
      if (parsed.what !== 'run') throw new Error(`${line.join(' ')} asks for ${parsed.what}`);
      code = await parsed.command.run(parsed.operands, parsed.values, context);
    } catch (error) {
      code = terminal.problem(undefined, error);
    } finally {
      process.chdir(checkoutDir);
    }
    return { code, stdout, stderr, asked };
  }

  const json = (name: string) => JSON.parse(readFileSync(path(name), 'utf8'));
  return { run, path, json, record: (name: string) => json(`${name}.qstamp.json`) as { stamp: Record<string, unknown> } };
}

export interface SeenRequest {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An HTTP server with given answers, and the requests that it got. */
export async function startStub(answer: (response: ServerResponse, request: SeenRequest, attempt: number) => void) {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const one = { line: `${request.method} ${request.url}`, headers: request.headers, body: await text(request) };
    seen.push(one);
    answer(response, one, seen.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

export const sendJson = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
