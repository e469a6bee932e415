import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, type RunOptions, runCommand } from '../../scripts/stack/run.ts';
import { developmentToken } from '../../src/shared/runtime/config.ts';
import { npmPlace, pythonPlace } from './packages.ts';

const conformance = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const pythonClient = 'mcp==2.3.0';
const inspector = '@modelcontextprotocol/inspector@2.12.0';

/** What the conformance suite is allowed to fail: whole scenarios, or single checks of one. */
interface Expected {
  readonly server: readonly string[];
  readonly checks: Readonly<Record<string, readonly string[]>>;
}
interface Check {
  readonly name: string;
  readonly status: string;
}

export interface McpMeeting {
  readonly name: string;
  /** Things that were right. */
  readonly right: number;
  readonly faults: readonly string[];
}

/** The suite in one era; `specVersion` is the one that it speaks. */
async function meetConformance(context: StackContext, url: string, specVersion: string): Promise<McpMeeting> {
  const place = await npmPlace(context, 'mcp-conformance', [conformance]);
  const results = join(context.dataDir, `mcp-${specVersion}`);
  mkdirSync(results);
  const expectedFile = join(checkoutDir, 'test/interop/mcp-conformance.yaml');
  const program = join(place, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const options = ['--url', `${url}/mcp`, '--suite', 'all', '--spec-version', specVersion, '-o', results];
  // It ends with 1 where something failed, which its results tell better.
  await runCommand(process.execPath, [program, 'server', ...options], context).catch((error) => {
    if (!(error instanceof CommandError)) throw error;
  });
  const expected = parse(readFileSync(expectedFile, 'utf8')) as Expected;
  const faults: string[] = [];
  let right = 0;
  for (const file of globSync('*/checks.json', { cwd: results })) {
    const scenario = basename(join(file, '..'))
      .replace(/^server-/, '')
      .replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
    for (const { name, status } of JSON.parse(readFileSync(join(results, file), 'utf8')) as Check[]) {
      const single = expected.checks[scenario];
      const isAllowed = single ? single.includes(name) : expected.server.includes(scenario);
      if (status === 'SUCCESS') right += 1;
      else if (status === 'FAILURE' && !isAllowed) faults.push(`${scenario}: ${name}`);
    }
  }
  return { name: `conformance, ${specVersion}`, right, faults };
}

/** PyPI `mcp` in one era, with a program of ours. */
async function runPython(
  context: StackContext,
  name: string,
  args: readonly string[],
  options: Omit<RunOptions, 'signal'>,
): Promise<McpMeeting> {
  const lines: string[] = [];
  const onLine = (line: string) => void (line.endsWith(': ok') && lines.push(line));
  try {
    const place = await pythonPlace(context, 'mcp', [pythonClient]);
    await runCommand(join(place, 'bin/python'), args, { signal: context.signal, onLine, ...options });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { name, right: lines.length, faults: [error.message] };
  }
  return { name, right: lines.length, faults: [] };
}

type Era = 'auto' | 'legacy';

const meetPython = (context: StackContext, url: string, mode: Era): Promise<McpMeeting> => {
  const args = ['test/interop/mcp-client.py', url, mode, developmentToken.token];
  return runPython(context, `PyPI mcp, ${mode}`, args, { cwd: checkoutDir });
};

/** The program of `qstamp mcp`. */
const local = [process.execPath, join(checkoutDir, 'bin/qstamp.mjs'), 'mcp'];

/** PyPI `mcp` starts `qstamp mcp`, and names an empty folder as its root. */
const meetPythonLocally = (context: StackContext, url: string, mode: Era): Promise<McpMeeting> => {
  const cwd = mkdtempSync(join(context.dataDir, 'mcp-'));
  const env = { ...process.env, QSTAMP_URL: url, XDG_CONFIG_HOME: cwd };
  return runPython(context, `PyPI mcp, local, ${mode}`, [join(checkoutDir, 'test/interop/mcp-local.py'), mode, ...local], { cwd, env });
};

/** The command line of the Inspector: it finds no schema that an assistant would reject (M2), and shows why a call fails (M5). */
async function meetInspector(context: StackContext, url: string): Promise<McpMeeting> {
  const inspect = await inspectorOf(context, [`${url}/mcp`, '--stored-auth-only']);
  const call = (...args: string[]) => inspect('--method', 'tools/call', '--tool-name', ...args);
  return judged('Inspector', [
    ['lists the tools', await inspect('--method', 'tools/list', '--strict'), /"service_stamp_hash".*"verify_file_hash"/s],
    ['says that there is no such tool', await call('no_such_tool'), /no_such_tool/],
    ['says that a token is missing', await call('verify_file_hash'), /A valid service token is required/],
  ]);
}

/** The same for `qstamp mcp`, which it starts. */
async function meetInspectorLocally(context: StackContext, url: string): Promise<McpMeeting> {
  const folder = mkdtempSync(join(context.dataDir, 'mcp-'));
  writeFileSync(join(folder, 'a.txt'), folder);
  const inspect = await inspectorOf(context, ['-e', `QSTAMP_URL=${url}`, ...local, '--allow', folder]);
  const call = (...args: string[]) => inspect('--method', 'tools/call', '--tool-name', ...args);
  return judged('Inspector, local', [
    ['lists the tools', await inspect('--method', 'tools/list', '--strict'), /"stamp_files".*"workflow_complete"/s],
    ['stamps a file', await call('stamp_files', '--tool-arg', 'paths=["a.txt"]'), /saved as .*a\.txt\.qstamp\.json/],
    ['says that a file is not allowed', await call('verify_file', '--tool-arg', 'path=/etc/hostname'), /in no allowed folder/],
  ]);
}

/** Runs the Inspector's command line with this target. */
async function inspectorOf(context: StackContext, target: readonly string[]): Promise<(...args: string[]) => Promise<string>> {
  const place = await npmPlace(context, 'mcp-inspector', [inspector], true);
  return async (...args) => {
    const lines: string[] = [];
    const options = [join(place, 'node_modules/.bin/mcp-inspector'), '--cli', ...target, ...args];
    const home = { ...context, env: { ...process.env, HOME: context.dataDir }, onLine: (line: string) => void lines.push(line) };
    await runCommand(process.execPath, options, home).catch((error) => {
      if (!(error instanceof CommandError)) throw error;
      lines.push(error.message);
    });
    return lines.join('\n');
  };
}

function judged(name: string, checks: readonly (readonly [check: string, said: string, expected: RegExp])[]): McpMeeting {
  const faults = checks.flatMap(([check, said, expected]) => (expected.test(said) ? [] : [`${check}: ${said.slice(0, 300)}`]));
  return { name, right: checks.length - faults.length, faults };
}

/** Strangers of the Model Context Protocol in both eras. `npm test` meets the SDKs (test/service/mcp/mcp-clients.test.ts, test/tools/mcp-local.test.ts). */
export const mcpStrangers: readonly { readonly name: string; meet(context: StackContext, url: string): Promise<McpMeeting> }[] = [
  { name: 'mcp-conformance', meet: (context, url) => meetConformance(context, url, '2026-07-28') },
  { name: 'mcp-conformance', meet: (context, url) => meetConformance(context, url, '2025-11-25') },
  { name: 'mcp-inspector', meet: meetInspector },
  { name: 'mcp-inspector', meet: meetInspectorLocally },
  { name: 'mcp-python', meet: (context, url) => meetPython(context, url, 'auto') },
  { name: 'mcp-python', meet: (context, url) => meetPython(context, url, 'legacy') },
  { name: 'mcp-python', meet: (context, url) => meetPythonLocally(context, url, 'auto') },
  { name: 'mcp-python', meet: (context, url) => meetPythonLocally(context, url, 'legacy') },
];
