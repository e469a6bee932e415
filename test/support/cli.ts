import { createHash, createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { type RunOptions, runToEnd } from '../../scripts/stack/run.ts';
import { qstamp as runQstamp } from '../../src/cli/main.ts';
import { operatorCommands } from '../../src/operator/index.ts';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { issueResponse, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { createPki } from './certificates.ts';
import { inherited } from './environment.ts';
import { ask } from './tsa-lab.ts';

/** Runs `qstamp` in the process of the test, where a start costs nothing, or in its own; and makes the stamps that it judges. */

/** An address without a server. */
export const nowhere = 'http://127.0.0.1:9';

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A folder with these files, removed when the test ends. */
export function temporaryFolder(files: Files = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

interface Surroundings {
  readonly url?: string;
  readonly serviceToken?: string | undefined;
  readonly stdin?: string;
  /** The answer of a person to each question; undefined: there is no person. */
  readonly answer?: string;
  /** The environment of a terminal; undefined: the output goes to a pipe. */
  readonly onTerminal?: Readonly<Record<string, string>>;
}

/** A folder with these files. Its commands run in this process. */
export function folderWith(files: Files, usual: Surroundings = {}) {
  const folder = temporaryFolder(files);
  const path = (name: string) => join(folder, name);
  async function run(line: readonly string[], surroundings: Surroundings = {}) {
    const { url = nowhere, serviceToken, stdin = '', answer, onTerminal } = { ...usual, ...surroundings };
    const asked: string[] = [];
    const { printed, sink } = printing(onTerminal !== undefined, (text) => asked.push(text));
    const environment = { ...onTerminal, QSTAMP_URL: url, QSTAMP_TOKEN: serviceToken, XDG_CONFIG_HOME: path('config') };
    const input = Object.assign(Readable.from([Buffer.from(answer === undefined ? stdin : `${answer}\n`)]), {
      isTTY: answer !== undefined,
    });
    process.chdir(folder);
    try {
      const [stdout, stderr] = [sink('stdout'), sink('stderr')];
      const operator = operatorCommands({ args: line, environment: () => ({}), stdout, stderr });
      const code = await runQstamp({ args: line, environment, stdin: input, stdout, stderr, operator });
      return { code, ...printed, asked };
    } finally {
      process.chdir(checkoutDir);
    }
  }

  const json = (name: string) => JSON.parse(readFileSync(path(name), 'utf8'));
  return { run, path, json, record: (name: string) => json(`${name}.qstamp.json`) as { stamp: Record<string, unknown> } };
}

/** The results of a command with `--json`. */
export const jsonLines = ({ stdout }: { readonly stdout: string }): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** The one result of a command with `--json`. */
export const only = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout);

/** Runs a command for operators in the process of the test. */
export async function runOperator(args: readonly string[], settings: Readonly<Record<string, string | undefined>>) {
  const { printed, sink } = printing();
  const [stdout, stderr] = [sink('stdout'), sink('stderr')];
  const operator = operatorCommands({ args, environment: () => settings, stdout, stderr });
  const code = await runQstamp({ args, environment: {}, stdin: Readable.from([]), stdout, stderr, operator });
  return { code, ...printed };
}

/** Streams that collect what is printed, except questions: those go to `onQuestion`. */
function printing(isTTY = false, onQuestion?: (text: string) => void) {
  const printed = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof printed) => {
    const write = (chunk: unknown, _encoding: BufferEncoding, done: () => void) => {
      const text = String(chunk);
      if (onQuestion && text.endsWith('[y/N] ')) onQuestion(text);
      else printed[name] += text;
      done();
    };
    return Object.assign(new Writable({ write }), { isTTY });
  };
  return { printed, sink };
}

const qstamp = join(checkoutDir, 'bin/qstamp.mjs');
type ProcessOptions = Pick<RunOptions, 'input' | 'env'> & { readonly cwd: string };

/** Runs a command line of bash, where `qstamp` is the command, and waits for its end. */
export async function runInBash(line: string, { env, ...options }: ProcessOptions) {
  const program = `qstamp() { "${process.execPath}" "${qstamp}" "$@"; }; ${line}`;
  const { code, stdout, stderr } = await runToEnd('bash', ['-c', program], { ...options, env: { ...inherited, ...env } });
  return { code, stdout, stderr };
}

/** Runs `qstamp` like its users, and waits for its end. */
export async function runCommand(args: readonly string[], { env, ...options }: ProcessOptions) {
  const { code, stdout, stderr } = await runToEnd(process.execPath, [qstamp, ...args], { ...options, env: { ...inherited, ...env } });
  return { code, stdout, stderr };
}

/** Runs `qstamp` like `runCommand`, and also returns the most memory that it held, in MiB. */
export async function runMeasured(args: readonly string[], { cwd, env }: ProcessOptions) {
  const script = join(cwd, 'peak.cjs');
  writeFileSync(
    script,
    // Not `resourceUsage().maxRSS`: it begins with the memory of the process that forked this one.
    `const { readFileSync, writeFileSync } = require('node:fs');
     const peak = () => /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1];
     process.on('exit', () => writeFileSync(__dirname + '/peak', peak()));`,
  );
  const outcome = await runCommand(args, { cwd, env: { ...env, NODE_OPTIONS: `--require ${script}` } });
  return { ...outcome, peakMebibytes: Number(readFileSync(join(cwd, 'peak'), 'utf8')) / 1024 };
}

interface SeenRequest {
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

export const hourMs = 3_600_000;
/** Years ago, so that everything that expired since then expired long ago. */
export const genTimeMs = Date.UTC(2024, 1, 29, 12);
export const genTime = '2024-02-29T12:00:00Z';
/** The same in text for people, where every time has milliseconds. */
export const shownTime = '2024-02-29T12:00:00.000Z';
export const pki = createPki({ nowMs: genTimeMs - 24 * hourMs });
export const stranger = createPki({ nowMs: genTimeMs - 24 * hourMs });
export const digestOf = (content: string | Uint8Array, hash: 'sha256' | 'sha512' = 'sha256') => createHash(hash).update(content).digest();

interface AnswerOptions {
  readonly hash?: 'sha256' | 'sha512';
  readonly identity?: SigningIdentity;
  readonly atMs?: number;
}

/** The answer of a development TSA for this content. */
export function answerFor(
  content: string | Uint8Array,
  { hash = 'sha256', identity = pki.signer, atMs = genTimeMs }: AnswerOptions = {},
): Buffer {
  const asked = ask({ hash, digest: digestOf(content, hash), nonce: undefined });
  return issueResponse({ identity, policies: ['2.999.1'], accuracy: { seconds: 1 } }, asked.der, { timeMs: atMs, serial: 1n });
}

export const tokenOf = (content: string, options: AnswerOptions = {}) => answerFor(content, options).toString('base64');
export const tokenId = '01890a5d-ac96-774b-bcce-b302099a8057';

/** The stamp file that an untrustworthy service would save beside a file. */
export const recordOf = (content: string, token: string) =>
  JSON.stringify({
    qstamp: 1,
    kind: 'stamp',
    file: 'a',
    bytes: content.length,
    sha256: digestOf(content).toString('hex'),
    service: nowhere,
    stamp: {
      token_id: tokenId,
      issued_at: '2001-01-01T00:00:00Z',
      content_sha256: digestOf(content).toString('hex'),
      token,
      tier: 'basic',
      tsp_provider: 'acme',
      is_qualified: true,
      verify_url: `/api/v1/verify/v1/token/${tokenId}`,
      sealed_storage_url: null,
    },
  });

export const mockToken = (content: string) =>
  issueMockToken(createSecretKey(Buffer.alloc(32, 1)), {
    tokenId,
    hash: digestOf(content).toString('hex'),
    timeMs: genTimeMs,
    tier: 'basic',
  });

/** A folder with the file `a` and its stamp file with this token. */
export const folder = (token: string, files: Files = {}, stamped = 'a') =>
  folderWith({
    a: 'a',
    'a.qstamp.json': recordOf(stamped, token),
    'root.pem': pki.rootPem,
    'other.pem': stranger.rootPem,
    ...files,
  });
