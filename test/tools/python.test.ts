import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { checkoutDir, createTemporaryContext, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { startContractProxy } from '../interop/contract-proxy.ts';
import { ensureProgram, pythonPlace } from '../interop/packages.ts';
import { startMailServer } from '../support/mail.ts';
import { patience } from '../support/pace.ts';
import { serviceToken, startService } from '../support/service.ts';
import { webhookSecret } from '../support/webhook-receiver.ts';

/** The tool that makes the wheel, the type checker, the client's one dependency, and the program that signs webhooks for the tests. */
const packages = ['hatchling==1.33.0', 'mypy==2.4.1', 'httpx==0.28.1', 'standardwebhooks==1.1.0'];

/** The first run downloads them. */
const limitMs = patience(600_000);

/** The interpreter with these packages, from the cache. Skips the test on a machine without python3 or PyPI. */
async function pythonOf(stack: StackContext, { skip }: TestContext): Promise<string> {
  try {
    await ensureProgram(stack, 'python3', 'python3-venv');
    return join(await pythonPlace(stack, 'qstamp-python', packages), 'bin/python');
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
  const python = await pythonOf(stack, context);
  const mail = await startMailServer();
  const settings = { SMTP_URL: mail.url, MAIL_FROM: 'q@qstamp.example', WEBHOOK_SECRET: webhookSecret, RATE_WORKFLOW_START_PER_HOUR: '0' };
  const service = await startService({ settings });
  const document = (await (await service.fetch('/openapi.json')).json()) as Parameters<typeof startContractProxy>[1];
  const proxy = await startContractProxy(service.url, document);
  onTestFinished(() => proxy.stop());

  // From a copy, because a build writes beside the sources.
  const source = join(stack.dataDir, 'source');
  cpSync(join(checkoutDir, 'clients/python'), source, { recursive: true });
  const PYTHONPATH = join(stack.dataDir, 'site');
  await runCommand(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-build-isolation', '--target', PYTHONPATH, source], stack);
  const env = { ...process.env, PYTHONPATH, MYPYPATH: join(source, 'src'), WEBHOOK_SECRET: webhookSecret };
  const examples = join(checkoutDir, 'examples');
  const typed = [join(source, 'src'), join(examples, 'agent-loop/agent-loop.py')];
  await runCommand(python, ['-m', 'mypy', '--strict', '--cache-dir', join(stack.cacheDir, 'mypy'), ...typed], { ...stack, env });

  const lines: string[] = [];
  const files = [join(checkoutDir, 'clients/python/README.md'), examples];
  const args = [join(import.meta.dirname, 'python-client.py'), proxy.url, serviceToken, ...files];
  const { code } = await runToEnd(python, args, { ...stack, cwd: stack.dataDir, env, onLine: (line) => void lines.push(line) });
  expect([...lines.filter((line) => !line.endsWith(': ok')), ...proxy.faults]).toEqual([]);
  expect([code, lines.length > 0]).toEqual([0, true]);
});
