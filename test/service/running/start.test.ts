import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { sendSignal } from '../../../scripts/stack/run.ts';
import { type Checkout, createCheckout, type RunningCommand } from '../../support/checkout.ts';
import { patience } from '../../support/pace.ts';
import { freshMongoUrl, freshRedisUrl } from '../../support/servers.ts';

let checkout: Checkout;
let started: RunningCommand[] = [];

beforeAll(() => {
  checkout = createCheckout();
});
afterEach(async () => {
  for (const command of started) {
    // It may have ended long ago; most of these tests are about that.
    sendSignal(command.pid, 'SIGTERM');
    await command.exitCode;
  }
  started = [];
});
afterAll(() => checkout.dispose());

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): RunningCommand {
  const running = checkout.run(command, args, { PORT: '0', ...env });
  started.push(running);
  return running;
}

/** Runs the target of `npm start` without npm, which takes half a second itself. */
const start = (env: NodeJS.ProcessEnv = {}) => run(process.execPath, ['scripts/bootstrap.mjs', 'scripts/start.ts'], env);

/** Servers of the test run, which are there already. */
const sharedServers = async () => ({ REDIS_URL: await freshRedisUrl(), MONGODB_URL: freshMongoUrl() });

const untilUp = async (command: RunningCommand) => (await command.until(/qstamp is up: (\S+)/))[1] ?? '';
const noProcesses = () => expect.poll(() => checkout.processes()).toEqual([]);

const verify = async (url: string, verifyUrl: string): Promise<unknown> => (await fetch(new URL(verifyUrl, url))).json();

const postTo = (url: string, path: string, body: object) =>
  fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe('npm start', () => {
  test('stamps and verifies, refuses to run twice, survives a kill, keeps stamps over a restart and another provider (V1), and ends on Ctrl-C', {
    timeout: patience(600_000),
  }, async () => {
    const local = run('npm', ['start'], { TSP: 'local' });
    const url = await untilUp(local);
    await local.until(
      /Redis {2,}\S.*\n *MongoDB {2,}\S.*\n *Provider {2,}the development TSA.*\n *Service token {2,}dev-service-token\n *Mail {2,}caught here/,
    );
    const [lines] = await local.until(/export QSTAMP_URL=.*\n.* stamp README\.md\n/);
    const { stdout } = await promisify(execFile)('sh', ['-c', lines], { cwd: checkout.dir });
    expect(stdout).toMatch(/^README\.md .* stamped at .* by local-tsa/);
    const record = readFileSync(join(checkout.dir, 'README.md.qstamp.json'), 'utf8');
    const { token_id, verify_url }: Record<string, string> = JSON.parse(record).stamp;
    expect(await verify(url, verify_url!)).toMatchObject({ valid: true, token_id });
    expect((statSync(join(checkout.dir, '.local/master-key')).mode & 0o777).toString(8)).toBe('600');

    const twin = start();
    expect(await twin.exitCode).toBe(1);
    expect(twin.output()).toContain('already runs in this checkout');
    expect(twin.output()).toContain(url);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    local.interrupt('SIGKILL');
    await local.exitCode;
    await noProcesses();

    const mock = start({ RATE_WORKFLOW_START_PER_HOUR: '0' });
    const mockUrl = await untilUp(mock);
    // Mails that we catch have no limit for their recipient (W25).
    const request = { user_email: 'client@example.com', agent_id: 'agent-7', briefing_hash: 'a'.repeat(64) };
    for (let starts = 1; starts <= 11; starts += 1) expect((await postTo(mockUrl, '/api/v1/workflow/start', request)).status).toBe(201);
    expect(await (await postTo(mockUrl, '/api/v1/agent/v1/stamp/basic', { hash: 'a'.repeat(64) })).json()).toMatchObject({
      tsp_provider: 'mock',
    });
    expect(await verify(mockUrl, verify_url!)).toMatchObject({ valid: true, token_id });
    mock.interrupt();
    expect(await mock.exitCode).toBe(0);
    await noProcesses();
  });

  test('with SMTP_URL sends mail there, and ends with everything else when the worker dies', async () => {
    const command = start({ ...(await sharedServers()), SMTP_URL: 'smtp://127.0.0.1:2525' });
    await untilUp(command);
    await command.until(/Mail {2,}from SMTP_URL/);
    const worker = checkout.processes().find((line) => line.includes('src/workers/main.ts'));
    process.kill(Number(worker?.split(' ')[0]), 'SIGKILL');
    expect(await command.exitCode).toBe(1);
    expect(command.output()).toContain('worker ended with SIGKILL');
    await noProcesses();
  });

  test('a busy port gives an error before anything starts', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const command = start({ PORT: String(port), TSP: 'local' });
    expect(await command.exitCode).toBe(1);
    expect(command.output()).toContain(`Listening on 127.0.0.1:${port} failed`);
    expect(command.output()).toContain('PORT=0 TSP=local npm start');
  });

  test('a wrong setting ends it with a line that names the setting, and everything else stops', async () => {
    const command = start({ ...(await sharedServers()), STAMP_WAIT_MS: 'soon' });
    expect(await command.exitCode).toBe(1);
    expect(command.output()).toContain('Starting the api failed');
    expect(command.output()).toMatch(/STAMP_WAIT_MS: got "soon"/);
    await noProcesses();
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s during start stops everything already started', async (signal, code) => {
    const command = start({ ...(await sharedServers()), TSP: 'local' });
    await expect.poll(() => checkout.processes().some((line) => line.includes('src/tsa/main.ts')), { interval: 20 }).toBe(true);
    command.interrupt(signal);
    expect(await command.exitCode).toBe(code);
    await noProcesses();
  });
});
