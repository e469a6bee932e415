import { expect, test } from 'vitest';
import { runOperator } from '../../support/cli.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

const run = (environment: Record<string, string>, ...args: string[]) => runOperator(['check-providers', ...args], environment);

test('check-providers asks each provider once and shows certificate, policy, clock, latency and verdict', async () => {
  const [first, second] = await Promise.all([startTsa(), startTsa()]);
  const settings = providersSettings([{ tsa: first, qualified: true }, { tsa: second }]);
  const { code, stdout } = await run(settings);
  expect(code).toBe(0);
  expect([first.server.received.length, second.server.received.length]).toEqual([1, 1]);
  expect(stdout).toMatch(/^tsa-1: ok\n {2}certificate CN=.*, valid until \d{4}-\d\d-\d\dT[\d:.]+Z\n/);
  expect(stdout).toMatch(/\n {2}policy {6}[\d.]+\n {2}clock {7}(as ours|\d+ ms (ahead of|behind) ours)\n {2}latency {5}\d+ ms\n/);
  expect(stdout).toMatch(/qualified {3}as configured; no trusted list was asked\ntsa-2: ok\n/);
  expect(await run(settings, '--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a failed provider is named with its reason, and the exit code is 1; --json gives one line each', async () => {
  const [right, wrong] = await Promise.all([startTsa(), startTsa()]);
  wrong.server.failAlways(createFault('bad_signature'));
  const { code, stdout } = await run(
    providersSettings([{ tsa: right }, { tsa: wrong, qualified: true }, { tsa: right, url: 'http://127.0.0.1:1/' }]),
    '--json',
  );
  expect(code).toBe(1);
  const [one, two, three] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(one).toEqual({
    provider: 'tsa-1',
    is_qualified: false,
    verdict: 'ok',
    fault: null,
    certificate: { subject: expect.stringContaining('CN='), valid_until: expect.stringMatching(/Z$/) },
    policy: expect.stringMatching(/^[\d.]+$/),
    clock_difference_ms: expect.any(Number),
    latency_ms: expect.any(Number),
  });
  expect(two).toMatchObject({
    provider: 'tsa-2',
    is_qualified: false,
    verdict: 'failed',
    fault: expect.stringMatching(/^signature_invalid: /),
    certificate: null,
  });
  expect(three).toMatchObject({ provider: 'tsa-3', verdict: 'failed', fault: expect.stringContaining('ECONNREFUSED') });
  const quiet = await run(providersSettings([{ tsa: right }, { tsa: wrong }]), '--quiet');
  expect(quiet).toMatchObject({ code: 1, stdout: expect.stringMatching(/^tsa-2: failed: signature_invalid: /) });
});

test('settings without a provider, and unknown arguments, end it with one line', async () => {
  expect(await run({ TSP: 'file' })).toMatchObject({ code: 2, stderr: expect.stringMatching(/^qstamp: TSP_PROVIDERS_FILE: .*\n$/) });
  expect(await run({}, '--what')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^qstamp: .*--what.* \(see qstamp check-providers --help\)\n$/),
  });
  expect(await run({})).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/^TSP is mock: .*\n$/) });
});
