import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import { findProgram } from '../../scripts/stack/administrator.ts';
import { sha256 } from './requests.ts';
import { type Service, startService } from './service.ts';
import { providersSettings, type RunningTsa, startTsa } from './tsa-service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from './workflows.ts';

/** Evidence bundles, taken apart, bent, put together again, and checked where nothing is but what `verify.sh` asks for. */

/** A bundle by the names of its files, in their order. */
export type Bundle = ReadonlyMap<string, Buffer>;

export async function unzip(zip: Uint8Array): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const opened = await fromBufferPromise(Buffer.from(zip), { lazyEntries: true });
  for await (const entry of opened.eachEntry()) files.set(entry.fileName, await buffer(await opened.openReadStreamPromise(entry)));
  return files;
}

export function zipped(files: Bundle): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files) zip.addBuffer(content, name);
  zip.end();
  return buffer(zip.outputStream);
}

/** The list of hashes as it has to be for these files. */
export function withSums(files: Bundle): Map<string, Buffer> {
  const bent = new Map(files);
  bent.delete('SHA256SUMS');
  const sums = [...bent].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  return bent.set('SHA256SUMS', Buffer.from(sums.join('')));
}

/** Whether a test may see a folder as the whole machine. */
export const canChangeRoot = process.getuid?.() === 0 && findProgram('chroot') !== undefined;

/** The files that a program is loaded with, as the loader lists them. */
const librariesOf = (program: string): string[] => execFileSync('ldd', [program], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];

/** Runs `verify.sh` of these files where nothing is at all but three programs: no /dev, no /proc, no other folder. */
export async function runScriptInEmptyPlace(files: Bundle, ...args: readonly string[]): Promise<ScriptRun> {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-empty-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const put = (name: string, content: Buffer, mode = 0o644) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content, { mode });
  };
  for (const name of ['sh', 'openssl', 'sha256sum']) {
    const program = findProgram(name) ?? name;
    put(`bin/${name}`, readFileSync(program), 0o755);
    for (const library of librariesOf(program)) put(library, readFileSync(library), 0o755);
  }
  for (const [name, content] of files) put(join('bundle', name), content);
  return new Promise((resolve) => {
    const options = { env: { PATH: '/bin' }, encoding: 'utf8' } as const;
    execFile(findProgram('chroot') ?? '', [folder, '/bin/sh', '/bundle/verify.sh', ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` });
    });
  });
}

export interface ScriptRun {
  readonly code: number;
  readonly output: string;
}

/** Runs `verify.sh` of these files with a PATH where nothing is but openssl and sha256sum. */
export const runScript = (files: Bundle, ...args: readonly string[]): Promise<ScriptRun> => runScriptBy('/bin/sh', files, ...args);

/** The same in a shell of the caller's choice; `left` is what is in the folder where it ran. */
export async function runScriptBy(shell: string, files: Bundle, ...args: readonly string[]): Promise<ScriptRun & { left: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  for (const name of ['openssl', 'sha256sum']) symlinkSync(findProgram(name) ?? name, join(programs, name));
  const at = (name: string) => join(folder, 'bundle', name);
  for (const [name, content] of files) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), content);
  }
  return new Promise((resolve) => {
    const options = { env: { PATH: programs }, cwd: folder, encoding: 'utf8' } as const;
    execFile(shell, [at('verify.sh'), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}`, left: readdirSync(folder) });
    });
  });
}

export interface BundleLab {
  readonly service: Service;
  readonly tsa: RunningTsa;
  /** A completed workflow with these contents as its outputs, and its bundle. */
  completed(
    contents: readonly string[],
    briefing?: string,
  ): Promise<{ readonly workflow: StartedWorkflow; readonly zip: Buffer; readonly files: Bundle }>;
}

/** A service whose stamps come from a development TSA. `provider`: more members of its entry. */
export async function startBundleLab(
  onEnd: (close: () => void | Promise<void>) => void,
  provider: Readonly<Record<string, unknown>> = {},
): Promise<BundleLab> {
  const tsa = await startTsa({ onEnd });
  const settings = {
    ...providersSettings([{ tsa, ...provider }], onEnd),
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
  };
  const service = await startService({ keep: true, settings });
  onEnd(() => service.stop().then(() => undefined));
  return {
    service,
    tsa,
    completed: async (contents, briefing) => {
      const workflow = await startWorkflow(service, briefing === undefined ? {} : { briefing_hash: sha256(briefing) });
      const stamp = async (content: string) => {
        const { status } = await stampOutput(service, workflow, { output_hash: sha256(content) });
        if (status !== 201) throw new Error(`stamping answered ${status}`);
      };
      // Only what waits together is batched.
      if ('aggregate' in provider) await Promise.all(contents.map(stamp));
      else for (const content of contents) await stamp(content);
      const { status } = await completeWorkflow(service, workflow);
      if (status !== 200) throw new Error(`completing answered ${status}`);
      const zip = Buffer.from(await (await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).arrayBuffer());
      return { workflow, zip, files: await unzip(zip) };
    },
  };
}
