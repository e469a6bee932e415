import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { packPython } from '../../scripts/packages/python.ts';
import { checkoutDir, createTemporaryContext, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { startContractProxy } from '../interop/contract-proxy.ts';
import { ensureProgram, pythonPlace } from '../interop/packages.ts';
import { startMailServer } from '../support/mail.ts';
import { patience } from '../support/pace.ts';
import { serviceToken, startService } from '../support/service.ts';
import { webhookSecret } from '../support/webhook-receiver.ts';

/** The type checker, the client's one dependency, and the program that signs webhooks for the tests. */
const packages = ['mypy==2.4.1', 'httpx==0.28.1', 'standardwebhooks==1.1.0'];

/** The first run downloads them. */
const limitMs = patience(600_000);

/** The wheel of a release, and an interpreter with these packages, from the cache. Skips the test on a machine without python3 or PyPI. */
async function prepare(stack: StackContext, { skip }: TestContext): Promise<{ wheel: string; python: string }> {
  try {
    await ensureProgram(stack, 'python3', 'python3-venv');
    const python = join(await pythonPlace(stack, 'qstamp-python', packages), 'bin/python');
    const folder = join(stack.dataDir, 'packages');
    await packPython(folder, stack);
    const [wheel = ''] = globSync('*.whl', { cwd: folder });
    return { wheel: join(folder, wheel), python };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const reason = `the tests of the Python client were skipped, because its packages cannot be installed: ${error.message}`;
    process.stderr.write(`${reason}\n`);
    return skip(reason);
  }
}

test('the Python client, installed with pip, passes its type check and its own tests, by the contract', {
  timeout: limitMs,
}, async (context) => {
  const { context: stack, dispose } = createTemporaryContext(context.signal);
  onTestFinished(dispose);
  const { wheel, python } = await prepare(stack, context);
  const mail = await startMailServer();
  const settings = { SMTP_URL: mail.url, MAIL_FROM: 'q@qstamp.example', WEBHOOK_SECRET: webhookSecret, RATE_WORKFLOW_START_PER_HOUR: '0' };
  const service = await startService({ settings });
  const document = (await (await service.fetch('/openapi.json')).json()) as Parameters<typeof startContractProxy>[1];
  const proxy = await startContractProxy(service.url, document);
  onTestFinished(() => proxy.stop());

  const source = join(checkoutDir, 'clients/python/src');
  const PYTHONPATH = join(stack.dataDir, 'site');
  await runCommand(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-index', '--target', PYTHONPATH, wheel], stack);
  const env = { ...process.env, PYTHONPATH, MYPYPATH: source, WEBHOOK_SECRET: webhookSecret };
  const examples = join(checkoutDir, 'examples');
  const typed = [source, join(examples, 'agent-loop/agent-loop.py')];
  await runCommand(python, ['-m', 'mypy', '--strict', '--cache-dir', join(stack.cacheDir, 'mypy'), ...typed], { ...stack, env });

  const lines: string[] = [];
  const files = [join(checkoutDir, 'clients/python/README.md'), examples];
  const args = [join(import.meta.dirname, 'python-client.py'), proxy.url, serviceToken, ...files];
  const { code } = await runToEnd(python, args, { ...stack, cwd: stack.dataDir, env, onLine: (line) => void lines.push(line) });
  expect([...lines.filter((line) => !line.endsWith(': ok')), ...proxy.faults]).toEqual([]);
  expect([code, lines.length > 0]).toEqual([0, true]);
});
