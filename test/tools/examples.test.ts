import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand as runProgram, runToEnd } from '../../scripts/stack/run.ts';
import { runCommand as runQstamp } from '../support/cli.ts';
import { dependency, installedClient, offline } from '../support/client-package.ts';
import { inherited } from '../support/environment.ts';
import { listStampIds, sha256 } from '../support/requests.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

const closings: (() => unknown)[] = [];
const onEnd = (close: () => unknown) => void closings.push(close);

const installed = await installedClient();
let service: Service;
let rootPem: string;
/** A copy of the examples beside the package. */
let folder: string;
beforeAll(async () => {
  const tsa = await startTsa({ onEnd });
  rootPem = tsa.pki.rootPem;
  const settings = { ...providersSettings([{ tsa }], onEnd), RATE_WORKFLOW_START_PER_HOUR: '0' };
  service = await startService({ keep: true, settings });
  folder = join(installed.folder, 'examples');
  cpSync(join(checkoutDir, 'examples'), folder, { recursive: true });
});
afterAll(async () => {
  await service?.stop();
  for (const close of closings.reverse()) await close();
});

const project = (name: string): string => {
  const path = join(installed.folder, name);
  mkdirSync(path);
  return path;
};

test('agent-loop: the files of a tool and the text of the model become outputs of a completed workflow', async () => {
  const haiku = 'Steel over water\n';
  const model = await startScriptedModel({ name: '../../haiku.txt', content: haiku }, 'It is written.');
  const cwd = project('agent');
  const env = {
    PATH: process.env.PATH,
    QSTAMP_URL: service.url,
    CLIENT_EMAIL: 'client@example.com',
    MODEL_URL: model.url,
    MODEL: 'scripted',
  };
  const printed = await runProgram(process.execPath, [join(folder, 'agent-loop/agent-loop.ts'), 'Write a haiku.'], { cwd, env });
  const [page = '', answer] = printed.trim().split('\n');
  expect(answer).toBe('It is written.');
  expect(readFileSync(join(cwd, 'outputs/haiku.txt'), 'utf8')).toBe(haiku);
  const chain = (await (await fetch(`${page}/outputs.json`)).json()) as { outputs: { output_hash: string }[]; briefing_hash: string };
  expect(chain.outputs.map(({ output_hash }) => output_hash)).toEqual([sha256(haiku), sha256('It is written.')]);
  expect(chain.briefing_hash).toBe(sha256('Write a haiku.'));
  expect(await (await fetch(`${service.url}/api/v1/workflow/${page.split('/').at(-1)}`)).json()).toMatchObject({ status: 'completed' });
  expect(JSON.parse(model.seen[1]!.body).messages.at(-1)).toMatchObject({ role: 'tool', content: 'Wrote outputs/haiku.txt, output 1.' });
});

describe('assistant-hook', () => {
  const hook = (cwd: string, event: object, env: Record<string, string> = {}) =>
    runToEnd(process.execPath, [join(folder, 'assistant-hook/stamp-written-file.mjs')], {
      cwd,
      env: { ...inherited, QSTAMP_URL: service.url, QSTAMP_TOKEN: serviceToken, ...env },
      input: JSON.stringify(event),
    });
  const linesOf = (cwd: string) =>
    readFileSync(join(cwd, '.qstamp/stamps.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  test('stamps each version of a file that Claude Code and Cursor report', async () => {
    const cwd = project('assistant');
    mkdirSync(join(cwd, 'src'));
    const path = join(cwd, 'src/main.ts');
    const written = {
      session_id: 's',
      cwd,
      hook_event_name: 'PostToolUse',
      tool_name: 'Write',
      tool_input: { file_path: path, content: '' },
    };
    writeFileSync(path, 'first');
    expect(await hook(cwd, written)).toMatchObject({ code: 0, stdout: '', stderr: '' });
    writeFileSync(path, 'second');
    const edited = { conversation_id: 'c', hook_event_name: 'afterFileEdit', file_path: path, workspace_roots: [cwd], edits: [] };
    expect(await hook(cwd, edited)).toMatchObject({ code: 0 });
    expect(linesOf(cwd)).toMatchObject([
      { file: 'src/main.ts', session: 's', stamp: { content_sha256: sha256('first') } },
      { file: 'src/main.ts', session: 'c', stamp: { content_sha256: sha256('second') } },
    ]);
    expect(await listStampIds(service)).toEqual(expect.arrayContaining(linesOf(cwd).map(({ stamp }) => stamp.token_id)));
  });

  test('never blocks: it informs the person, and the assistant goes on', async () => {
    const cwd = project('assistant-alone');
    writeFileSync(join(cwd, 'a'), 'a');
    const event = { cwd, tool_name: 'Edit', tool_input: { file_path: 'a' } };
    const failed = await hook(cwd, event, { QSTAMP_URL: 'http://127.0.0.1:9' });
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^not stamped: .*cannot be reached/) });
    expect(await hook(cwd, { cwd, tool_name: 'Bash', tool_input: { command: 'ls' } })).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(join(cwd, '.qstamp'))).toBe(false);
  });
});

test('github-action: its steps stamp the artifacts, and the command verifies them without the service', async () => {
  interface Step {
    readonly run?: string;
    readonly env?: Readonly<Record<string, string>>;
  }
  const cwd = project('release');
  const action = join(folder, 'github-action');
  const { runs } = parse(readFileSync(join(action, 'action.yml'), 'utf8')) as { runs: { steps: Step[] } };
  const [, install, stamp] = runs.steps;
  // In place of the package from the registry.
  await runProgram('npm', ['install', ...offline, '--no-save', installed.archive, dependency], { cwd: action });
  const inputs: Record<string, string> = { url: service.url, 'service-token': serviceToken, files: 'dist/*.tgz\n\ndist/*.w*\n' };
  const runner = {
    // The state after the step that sets up Node.
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    npm_config_offline: 'true',
    GITHUB_ACTION_PATH: action,
    GITHUB_REPOSITORY: 'acme/thing',
    GITHUB_REF: 'refs/tags/v1',
    GITHUB_SHA: 'abc',
    GITHUB_OUTPUT: join(cwd, 'output'),
    GITHUB_STEP_SUMMARY: join(cwd, 'summary'),
  };
  const runStep = ({ run = '', env = {} }: Step = {}, workingFolder = cwd) => {
    const filled = Object.entries(env).map(([name, value]) => [
      name,
      value.replace(/\$\{\{ inputs\.([\w-]+) \}\}/, (_, input) => inputs[input] ?? ''),
    ]);
    return runProgram('bash', ['-e', '-c', run], { cwd: workingFolder, env: { ...runner, ...Object.fromEntries(filled) } });
  };
  mkdirSync(join(cwd, 'dist'));
  for (const name of ['thing.tgz', 'thing.whl']) writeFileSync(join(cwd, 'dist', name), `the content of ${name}`);
  await runStep(install, action);
  await runStep(stamp);
  expect(readFileSync(runner.GITHUB_OUTPUT, 'utf8')).toBe(
    'stamps<<QSTAMP\ndist/thing.tgz.qstamp.json\ndist/thing.whl.qstamp.json\nQSTAMP\n',
  );
  expect(readFileSync(runner.GITHUB_STEP_SUMMARY, 'utf8')).toContain(`| dist/thing.whl | \`${sha256('the content of thing.whl')}\` | [20`);

  writeFileSync(join(cwd, 'root.pem'), rootPem);
  const verify = () => runQstamp(['verify', '--ca', 'root.pem', 'dist/thing.tgz', 'dist/thing.whl'], { cwd });
  expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringContaining('dist/thing.whl: valid') });
  writeFileSync(join(cwd, 'dist/thing.whl'), 'another');
  expect(await verify()).toMatchObject({ code: 1 });

  inputs.files = 'dist/*.zip';
  await expect(runStep(stamp)).rejects.toThrow('no file matches dist/*.zip');
});
