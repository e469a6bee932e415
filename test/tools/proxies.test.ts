import { expect, test } from 'vitest';
import { runToEnd } from '../../scripts/stack/run.ts';
import { runCommand, sendJson, startStub, temporaryFolder } from '../support/cli.ts';
import { installedClient } from '../support/client-package.ts';
import { inherited } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

const result = { valid: false, verdict: 'not_valid', token_id: null, issued_at: null, content_sha256: null, imprint: null };
const verdict = { ...result, tsp_provider: null, is_qualified: null, qualified: null, reason: 'unknown_token_id: no stamp has this id' };
const stampId = '01a200f2-0f4b-734d-866a-e67e7c47f5d8';

/** A service, and the port by which its proxy finds it under any name. */
async function startBehindProxy() {
  const [stub, proxy] = await Promise.all([startStub((response) => sendJson(response, 200, verdict)), startProxy()]);
  const { port } = new URL(stub.url);
  return { stub, proxy, port, url: `http://stamps.example:${port}` };
}

test('the command uses the proxies of the environment, but not for this machine and the hosts of NO_PROXY', async () => {
  const { stub, proxy, port, url } = await startBehindProxy();
  const cwd = temporaryFolder();
  const verify = (env: Record<string, string>) => runCommand(['verify', '--online', stampId], { cwd, env });
  expect(await verify({ QSTAMP_URL: url, HTTP_PROXY: proxy.url })).toMatchObject({ code: 1, stderr: '' });
  expect(new Set(proxy.seen)).toEqual(new Set([`CONNECT stamps.example:${port}`]));
  const asked = [stub.seen.length, proxy.seen.length];
  expect(await verify({ QSTAMP_URL: stub.url, HTTP_PROXY: proxy.url })).toMatchObject({ code: 1, stderr: '' });
  // An address of this machine that only NO_PROXY knows.
  const excepted = { QSTAMP_URL: `http://0.0.0.0:${port}`, http_proxy: proxy.url, NO_PROXY: 'stamps.example,0.0.0.0' };
  expect(await verify(excepted)).toMatchObject({ code: 1, stderr: '' });
  expect([stub.seen.length / 3, proxy.seen.length]).toEqual(asked);
  const wrong = await verify({ QSTAMP_URL: url, HTTPS_PROXY: 'proxy.example:3128' });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('must be addresses such as http://proxy.example:3128') });
});

test('the TypeScript client uses them in Node with NODE_USE_ENV_PROXY=1', async () => {
  const { proxy, port, url } = await startBehindProxy();
  const program = `import { Qstamp } from 'qstamp-client'; console.log((await new Qstamp().verify('id')).valid)`;
  const env = { ...inherited, QSTAMP_URL: url, HTTP_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1' };
  const { folder } = await installedClient();
  const run = await runToEnd(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder, env });
  expect(run).toMatchObject({ code: 0, stdout: 'false\n' });
  expect(proxy.seen).toEqual([`CONNECT stamps.example:${port}`]);
});
