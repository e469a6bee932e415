import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { packCommand } from '../../scripts/packages/npm.ts';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { developmentToken } from '../../src/shared/runtime/config.ts';
import { installClient } from '../support/client-package.ts';
import { startContractProxy } from './contract-proxy.ts';
import { npmPlace } from './packages.ts';

const runtimes = { deno: 'deno@2.9.6', bun: 'bun@1.4.4' } as const;
const oldestNode = 'node@22.12.0';

/** A client of ours where it is used: tests of its own that print a line each, `name: ok` or what is wrong. */
interface OurClient {
  readonly name: string;
  run(context: StackContext, url: string, onLine: (line: string) => void): Promise<unknown>;
}

/** `qstamp-client` in a runtime that comes as a package of npm. */
const inRuntime = (name: keyof typeof runtimes, args: readonly string[]): OurClient => ({
  name: `qstamp-${name}`,
  run: async (context, url, onLine) => {
    const place = await npmPlace(context, name, [runtimes[name]], true);
    const { folder, dispose } = await installClient();
    try {
      copyFileSync(join(checkoutDir, 'test/interop/qstamp-client.mjs'), join(folder, 'test.mjs'));
      writeFileSync(join(folder, 'output.txt'), 'hello');
      const home = join(context.dataDir, `${name}-home`);
      mkdirSync(home);
      const env = { ...process.env, HOME: home, DENO_NO_UPDATE_CHECK: '1' };
      const program = join(place, 'node_modules/.bin', name);
      await runCommand(program, [...args, 'test.mjs', url, developmentToken.token], { ...context, cwd: folder, env, onLine });
    } finally {
      dispose();
    }
  },
});

/** The package `qstamp`, installed from the registry by npx, in the oldest Node that it supports. */
const commandInNode22: OurClient = {
  name: 'qstamp-node22',
  run: async (context, url, onLine) => {
    const place = await npmPlace(context, 'node22', [oldestNode], true);
    const folder = mkdtempSync(join(context.dataDir, 'node22-'));
    const archive = await packCommand(folder);
    writeFileSync(join(folder, 'a.txt'), folder);
    const PATH = `${join(place, 'node_modules/.bin')}${delimiter}${process.env.PATH}`;
    const env = { ...process.env, PATH, QSTAMP_URL: url, XDG_CONFIG_HOME: folder };
    const npx = (...args: string[]) => runToEnd('npx', ['-y', `./${basename(archive)}`, ...args], { ...context, cwd: folder, env });
    const checks = [
      ['stamps', await npx('stamp', 'a.txt'), 0, /a\.txt\.qstamp\.json/],
      ['verifies', await npx('verify', 'a.txt'), 1, /NOT PROVED, trust_store_empty/],
    ] as const;
    for (const [name, { code, output }, expected, said] of checks)
      onLine(`${name}: ${code === expected && said.test(output) ? 'ok' : `${code} ${output}`}`);
  },
};

/** Our own clients in runtimes that are not the project's. */
export const ourClients: readonly OurClient[] = [
  inRuntime('deno', ['run', '--no-prompt', '--allow-net', '--allow-read']),
  inRuntime('bun', ['run']),
  commandInNode22,
];

/** Lets each client of ours do its tests; answers the lines of a table, and whether all is well. */
export async function meetOurClients(
  clients: readonly OurClient[],
  context: StackContext,
  { url, document }: { url: string; document: Parameters<typeof startContractProxy>[1] },
): Promise<{ isGood: boolean; rows: string[] }> {
  if (clients.length === 0) return { isGood: true, rows: [] };
  const rows = [`${'our client'.padEnd(24)}${'tests that passed'.padEnd(20)}${'calls by the contract'.padEnd(24)}result`];
  let isGood = true;
  for (const { name, run } of clients) {
    const proxy = await startContractProxy(url, document);
    const lines: string[] = [];
    const faults: string[] = [];
    try {
      await context.progress.step(name, () => run(context, proxy.url, (line) => void lines.push(line)));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      faults.push(error.message);
    } finally {
      await proxy.stop();
    }
    const passed = lines.filter((line) => line.endsWith(': ok')).length;
    faults.push(...lines.filter((line) => !line.endsWith(': ok')), ...proxy.faults);
    const isRight = faults.length === 0 && passed > 0;
    isGood &&= isRight;
    rows.push(
      `${name.padEnd(24)}${String(passed).padEnd(20)}${String(proxy.calls()).padEnd(24)}${isRight ? 'passed' : 'FAILED'}`,
      ...faults.map((fault) => `    ${fault}`),
    );
  }
  return { isGood, rows };
}
