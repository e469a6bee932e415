import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import { findProgram } from '../../scripts/stack/run.ts';
import { sha256 } from './requests.ts';
import { type RunningService, type Settings, startService } from './service.ts';
import { providersSettings, type RunningTsa, startTsa } from './tsa-service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from './workflows.ts';

/** Unpacks, changes and repacks evidence bundles, and checks them where only the programs for `verify.py` exist. */

/** The files of a bundle by name, in order. */
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

/** The correct list of hashes for these files. */
export function withSums(files: Bundle): Map<string, Buffer> {
  const bent = new Map(files);
  bent.delete('SHA256SUMS');
  const sums = [...bent].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  return bent.set('SHA256SUMS', Buffer.from(sums.join('')));
}

interface ScriptRun {
  readonly code: number;
  readonly output: string;
}

/** The real Python: the first one on PATH may be a wrapper script. */
const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();

/** Runs the `verify.py` of these files with only these programs on PATH. */
export async function runScript(
  files: Bundle,
  args: readonly string[] = [],
  programs: readonly string[] = ['openssl'],
): Promise<ScriptRun> {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'programs');
  mkdirSync(path);
  for (const name of programs) symlinkSync(findProgram(name) ?? name, join(path, name));
  for (const [name, content] of files) {
    const file = join(folder, 'bundle', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return new Promise((resolve) => {
    const options = { env: { PATH: path, PYTHONIOENCODING: 'utf-8' }, cwd: folder, encoding: 'utf8' } as const;
    execFile(python, ['-I', 'bundle/verify.py', ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` });
    });
  });
}

export interface BundleLab {
  readonly service: RunningService;
  readonly tsa: RunningTsa;
  /** A completed workflow with these contents as its outputs, and its bundle. */
  completed(
    contents: readonly string[],
    briefing?: string,
  ): Promise<{ readonly workflow: StartedWorkflow; readonly zip: Buffer; readonly files: Bundle }>;
}

/** A service with stamps from a development TSA. `provider`: more members of its entry; `given`: an already running TSA; `more`: more settings. */
export async function startBundleLab(
  onEnd: (close: () => void | Promise<void>) => void,
  provider: Readonly<Record<string, unknown>> = {},
  given?: RunningTsa,
  more: Settings = {},
): Promise<BundleLab> {
  const tsa = given ?? (await startTsa({ onEnd }));
  const settings = {
    ...providersSettings([{ tsa, ...provider }], onEnd),
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    RATE_VERIFY_PER_MINUTE: '0',
    ...more,
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
      // Only requests that wait together are batched.
      if ('aggregate' in provider) await Promise.all(contents.map(stamp));
      else for (const content of contents) await stamp(content);
      const { status } = await completeWorkflow(service, workflow);
      if (status !== 200) throw new Error(`completing answered ${status}`);
      const zip = Buffer.from(await (await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).arrayBuffer());
      return { workflow, zip, files: await unzip(zip) };
    },
  };
}
