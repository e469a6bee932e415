import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { installPackages } from '../../scripts/stack/debian.ts';
import { CommandError, findProgram, runCommand } from '../../scripts/stack/run.ts';
import { createMerkleTree } from '../../src/shared/domain/proofs.ts';
import { hexOf } from '../../src/shared/proof/octets.js';
import { pythonPlace } from './packages.ts';

/** Strangers on what a workflow proves: Merkle proofs, COSE headers, and the evidence bundle. */

const packages = ['scitt-cose==0.5.0', 'pymerkle==7.0.0'];

const sha256 = (content: string): Buffer => createHash('sha256').update(content).digest();

/** Answers the last line of the program's output. @throws CommandError */
async function askPython(context: StackContext, ...args: readonly string[]): Promise<string> {
  const python = join(await pythonPlace(context, 'transparency', packages), 'bin/python');
  const said = await runCommand(python, [join(checkoutDir, 'test/interop/transparency.py'), ...args], context);
  return said.trim().split('\n').at(-1) ?? '';
}

/** Every inclusion proof of trees with 1 to 300 leaves and with 1 000, and proofs of consistency with each smaller tree of some. */
async function judgeTrees(context: StackContext): Promise<string> {
  const sizes = [...Array.from({ length: 300 }, (_, index) => index + 1), 1_000];
  const tree = createMerkleTree();
  const entries = Array.from({ length: 1_000 }, (_, index) => sha256(`output ${index + 1}`));
  for (const entry of entries) tree.append(entry);
  const hex = (nodes: readonly Uint8Array[]) => nodes.map((node) => Buffer.from(node).toString('hex'));
  const lines = sizes.map((size) =>
    JSON.stringify({
      entries: hex(entries.slice(0, size)),
      root: hexOf(tree.rootAt(size)),
      paths: Array.from({ length: size }, (_, index) => hex(tree.proveInclusion(index, size).inclusionPath)),
      consistency: [1, 2, 3, size >> 1, size - 1]
        .filter((first, index, all) => first >= 1 && first < size && all.indexOf(first) === index)
        .map((first) => [first, hexOf(tree.rootAt(first)), hex(tree.proveConsistency(first, size).consistencyPath)]),
    }),
  );
  const file = join(context.dataDir, 'trees.jsonl');
  writeFileSync(file, lines.join('\n'));
  return `scitt-cose and pymerkle take ${await askPython(context, 'trees', file)} proofs over trees of 1 to 300 and of 1 000 leaves`;
}

interface CompletedWorkflow {
  readonly id: string;
  readonly contents: readonly string[];
  readonly stampIds: readonly string[];
}

async function completeWorkflow(url: string): Promise<CompletedWorkflow> {
  const post = async (path: string, body: object | undefined, token?: string) => {
    const headers = { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: `Workflow ${token}` }) };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new CommandError(`${path} answered ${response.status}`, await response.text());
    return (await response.json()) as Record<string, string>;
  };
  const briefing_hash = sha256('briefing').toString('hex');
  const started = await post('/api/v1/workflow/start', { user_email: 'erika@example.com', agent_id: 'stranger', briefing_hash });
  const path = `/api/v1/workflow/${started.workflow_id}`;
  const contents = ['one', 'two', 'three', 'four', 'five'];
  const stampIds: string[] = [];
  for (const content of contents) {
    const output = { output_hash: sha256(content).toString('hex'), output_type: 'text' };
    stampIds.push(String((await post(`${path}/stamp`, output, started.workflow_token)).stamp_token_id));
  }
  await post(`${path}/complete`, undefined, started.workflow_token);
  return { id: String(started.workflow_id), contents, stampIds };
}

async function download(url: string, file: string): Promise<void> {
  for (;;) {
    const response = await fetch(url);
    if (response.ok) return writeFileSync(file, Buffer.from(await response.arrayBuffer()));
    if (response.status !== 503) throw new CommandError(`${url} answered ${response.status}`, await response.text());
    await delay(1_000);
  }
}

/** An own COSE_Sign1 over the content takes our headers; its receipt and its token are judged by scitt-cose and OpenSSL. */
async function judgeCose(context: StackContext, url: string, rootFile: string): Promise<string> {
  const { contents, stampIds } = await completeWorkflow(url);
  const file = (name: string) => join(context.dataDir, `cose-${name}`);
  const [content = '', stampId = ''] = [contents[2], stampIds[2]];
  writeFileSync(file('content'), content);
  await download(`${url}/api/v1/verify/v1/token/${stampId}/cose`, file('headers'));
  await download(`${url}/api/v1/verify/v1/receipt-key`, file('key'));
  const leaf = sha256(content).toString('hex');
  const said = await askPython(context, 'headers', file('headers'), file('content'), file('key'), file('token'), leaf);
  await runCommand('openssl', ['ts', '-verify', '-token_in', '-in', file('token'), '-data', file('content'), '-CAfile', rootFile], context);
  return `scitt-cose takes headers and receipt ${said}; OpenSSL takes the token in them`;
}

/** A bundle taken apart by jq, sha256sum and openssl, and by its own script. */
async function judgeBundle(context: StackContext, url: string, rootFile: string): Promise<string> {
  if (findProgram('jq') === undefined) await installPackages(context, ['jq']);
  if (findProgram('unzip') === undefined) await installPackages(context, ['unzip']);
  const { id, contents } = await completeWorkflow(url);
  const folder = join(context.dataDir, 'bundle');
  mkdirSync(folder);
  const [zip, document] = [join(context.dataDir, 'bundle.zip'), join(context.dataDir, 'evidence.json')];
  await download(`${url}/workflow/${id}/evidence.zip`, zip);
  await download(`${url}/workflow/${id}/evidence.json`, document);
  const run = (program: string, ...args: readonly string[]) => runCommand(program, args, { signal: context.signal, cwd: folder });
  await run('unzip', '-q', zip);
  await run('sha256sum', '--check', '--strict', '--quiet', 'SHA256SUMS');
  const root = (await run('jq', '-r', '.merkle_root', 'closing-record.json')).trim();
  if (!(await run('sha256sum', 'root.bin')).startsWith(root))
    throw new CommandError('root.bin is not the file whose SHA-256 is the root', root);
  const lines = await run(
    'jq',
    '-r',
    '.outputs[] | "\\(.sequence_number) \\(.output_hash) \\(.chain_hash) \\(.output_type) \\(.stamp_id)"',
    document,
  );
  if (lines.trim() !== readFileSync(join(folder, 'outputs.txt'), 'utf8').trim()) throw new CommandError('zip and JSON differ', lines);
  const judged = ['ts', '-verify', '-token_in', '-CAfile', rootFile, '-untrusted', 'certificates/others.pem'];
  await run('openssl', ...judged, '-in', 'root.tst', '-data', 'root.bin');
  await run('openssl', ...judged, '-in', 'closing-record.tst', '-data', 'closing-record.json');
  writeFileSync(join(folder, '../three'), contents[2] ?? '');
  const said = await run('python3', '-I', 'verify.py', '--ca', rootFile, '../three');
  if (!/^'\.\.\/three' is output 3$/m.test(said)) throw new CommandError('verify.py does not find the third output', said);
  return `unzip, jq, sha256sum and openssl take the bundle, and verify.py says: ${said.trim().split('\n').at(-1)}`;
}

export interface Meeting {
  readonly url: string;
  /** PEM of the TSA's root certificate. */
  readonly rootFile: string;
}

/** A program of others, and its judgement as one sentence. */
export interface Stranger {
  readonly name: string;
  /** @throws CommandError if it is not right */
  judge(context: StackContext, meeting: Meeting): Promise<string>;
}

export const transparencyStrangers: readonly Stranger[] = [
  { name: 'merkle-proofs', judge: judgeTrees },
  { name: 'cose', judge: (context, { url, rootFile }) => judgeCose(context, url, rootFile) },
  { name: 'bundle', judge: (context, { url, rootFile }) => judgeBundle(context, url, rootFile) },
];

/** What each said, and whether all went well. */
export async function meetStrangers(
  chosen: readonly Stranger[],
  context: StackContext,
  meeting: Meeting,
): Promise<{ isGood: boolean; rows: string[] }> {
  const rows: string[] = [];
  let isGood = true;
  for (const { name, judge } of chosen) {
    try {
      rows.push(`${name}: ${await context.progress.step(name, () => judge(context, meeting))}`);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      isGood = false;
      rows.push(`${name}: FAILED, ${error.message}`);
    }
  }
  return { isGood, rows };
}
