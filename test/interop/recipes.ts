import { appendFileSync, copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { installClient } from '../support/client-package.ts';
import { npmPlace, pythonPlace } from './packages.ts';
import type { Meeting, Stranger } from './transparency.ts';

/**
 * The examples that need packages of others, run unchanged against the service. Each makes a file and the evidence record of its stamp, which the
 * command judges without the service; a changed file is refused.
 */
export const recipes: readonly Stranger[] = [
  {
    name: 'langgraph',
    judge: inPython(['langgraph==1.2.24', 'httpx==0.28.1'], 'langgraph/stamp_report.py', () => 'Bridges', 'report.md'),
  },
  {
    name: 'in-toto',
    judge: inPython(
      ['in-toto-attestation==0.9.3', 'securesystemslib[crypto]==1.6.0', 'httpx==0.28.1'],
      'in-toto/attest.py',
      drawBridge,
      'bridge.svg.intoto.json',
    ),
  },
  {
    name: 'ai-sdk',
    judge: inNode(['examples/ai-sdk/save-and-stamp.mjs', 'test/interop/ai-sdk.mjs'], () => ['../../haiku.txt', 'Steel.'], 'haiku.txt'),
  },
  {
    name: 'agent-receipt',
    judge: inNode(['examples/agent-receipt/sign-receipt.mjs'], (cwd) => [drawBridge(cwd)], 'bridge.svg.receipt.jws'),
  },
  { name: 'skill', judge: validateSkill },
];

/** A result of an agent, for the recipes that need one. */
function drawBridge(folder: string): string {
  writeFileSync(join(folder, 'bridge.svg'), '<svg/>');
  return 'bridge.svg';
}

/** A recipe in Python, with our client as pip installs it. `prepare` answers its argument. */
function inPython(packages: readonly string[], recipe: string, prepare: (cwd: string) => string, made: string): Stranger['judge'] {
  return async (context, meeting) => {
    const name = basename(recipe, '.py');
    const cwd = join(context.dataDir, name);
    // From a copy, because a build writes beside the sources.
    const source = join(cwd, 'client');
    cpSync(join(checkoutDir, 'clients/python'), source, { recursive: true });
    const python = join(await pythonPlace(context, `recipe-${name}`, packages), 'bin/python');
    const PYTHONPATH = join(cwd, 'site');
    await runCommand(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', PYTHONPATH, source], context);
    const env = { ...process.env, PYTHONPATH, QSTAMP_URL: meeting.url };
    await runCommand(python, [join(checkoutDir, 'examples', recipe), prepare(cwd)], { ...context, cwd, env });
    return judgeStamp(context, meeting, cwd, made);
  };
}

/** A recipe in Node, with our client as npm installs it: the last of these files is run, beside the others. */
function inNode(files: readonly string[], prepare: (cwd: string) => readonly string[], made: string): Stranger['judge'] {
  return async (context, meeting) => {
    const place = await npmPlace(context, 'recipes', ['ai@7.0.173', 'zod@4.6.7', 'jose@6.2.18']);
    const { folder, dispose } = await installClient();
    try {
      const cwd = join(folder, 'recipe');
      mkdirSync(cwd);
      symlinkSync(join(place, 'node_modules'), join(cwd, 'node_modules'));
      for (const file of files) copyFileSync(join(checkoutDir, file), join(cwd, basename(file)));
      const env = { ...process.env, QSTAMP_URL: meeting.url };
      await runCommand(process.execPath, [basename(files.at(-1) ?? ''), ...prepare(cwd)], { ...context, cwd, env });
      return await judgeStamp(context, meeting, cwd, made);
    } finally {
      dispose();
    }
  };
}

/** @throws CommandError unless the command finds the file valid, and no longer after a change */
async function judgeStamp(context: StackContext, { rootFile }: Meeting, cwd: string, file: string): Promise<string> {
  const args = [join(checkoutDir, 'bin/qstamp.mjs'), 'verify', file, '--ca', rootFile];
  const said = await runCommand(process.execPath, args, { ...context, cwd });
  if (!said.startsWith(`${file}: valid`)) throw new CommandError('the stamp is not valid', said);
  appendFileSync(join(cwd, file), ' ');
  const changed = await runToEnd(process.execPath, args, { ...context, cwd });
  if (changed.code !== 1) throw new CommandError('a changed file is not refused', changed.output);
  return `qstamp verify says: ${said.split('\n')[0]}`;
}

/** The reference validator of agentskills.io on our skill. */
async function validateSkill(context: StackContext): Promise<string> {
  const place = await pythonPlace(context, 'skills-ref', ['skills-ref==0.1.1']);
  // By its interpreter, because the cache has moved the environment, and the first line of the script names the old place.
  const [python, script] = ['python', 'agentskills'].map((name) => join(place, 'bin', name));
  const said = await runCommand(python!, [script!, 'validate', join(checkoutDir, 'skills/qstamp')], context);
  return `skills-ref says: ${said.trim().split(':')[0]}`;
}
