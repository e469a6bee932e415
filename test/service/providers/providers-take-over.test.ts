import { describe, expect, test } from 'vitest';
import { createPki } from '../../support/certificates.ts';
import { randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

describe('the pool of providers', () => {
  const faults = [
    ...'reset cut status:500 status:404 html content_type empty endless truncated trailing oversized redirect hang slow:60000 drip:60000'.split(
      ' ',
    ),
    ...'granted_with_mods rejected rejected_with_token granted_without_token stale_nonce no_nonce other_imprint past future expired'.split(
      ' ',
    ),
    'bad_signature',
  ];

  test('goes on to the next provider after any fault or a late answer, and a client sees the first correct answer', async () => {
    const pki = createPki({ nowMs: Date.now() });
    const failing = await Promise.all(faults.map(() => startTsa({ pki })));
    for (const [index, { server }] of failing.entries()) server.failAlways(createFault(faults[index] ?? ''));
    const right = await startTsa();
    const settings = providersSettings([...failing.map((tsa) => ({ tsa, qualified: true, timeout_ms: 300 })), { tsa: right }]);
    const service = await startService({ settings });
    const { status, body } = await stampInternal(service, { hash: randomHash() });
    expect([status, body.tsp_provider, body.is_qualified]).toEqual([201, `tsa-${faults.length + 1}`, false]);
    expect((await verifyById(service, body.token_id)).body.valid).toBe(true);
    for (const [index, { server }] of failing.entries()) expect(server.received.length, faults[index]).toBeGreaterThan(0);
  });

  test('answers 502 within the wait of the caller if every provider fails, with reasons in the log (E9); one that keeps failing is not asked again', async () => {
    const [first, second] = [await startTsa(), await startTsa()];
    first.server.failAlways(createFault('bad_signature'));
    second.server.failAlways(createFault('hang'));
    // Two tenths of the wait are left when the second one is given up: enough on a busy machine.
    const service = await startService({ settings: { ...providersSettings([{ tsa: first }, { tsa: second }]), STAMP_WAIT_MS: '8000' } });
    const { status, body } = await stampInternal(service, { content_b64: 'AAAA', tier: 'sealed' });
    expect([status, body]).toMatchObject([502, { code: 'provider_failed' }]);
    expect(service.workers[0]?.output()).toContain('signature_invalid');
    second.server.failAlways(undefined);
    for (let stamp = 0; stamp < 8; stamp += 1)
      expect((await stampInternal(service, { hash: randomHash() })).body.tsp_provider).toBe('tsa-2');
    // The worker also asked it at start.
    expect(first.server.received.length).toBe(5);
  });

  test('asks a provider again after a transport fault, 429 and 5xx, but never after an invalid answer', async () => {
    const tsa = await startTsa();
    const service = await startService({ settings: providersSettings([{ tsa }]) });
    for (const [fault, asked, status] of [
      ['reset', 2, 201],
      ['status:503', 2, 201],
      ['retry_after:0', 2, 201],
      ['status:400', 1, 502],
      ['other_imprint', 1, 502],
    ] as const) {
      const before = tsa.server.received.length;
      tsa.server.failNext(createFault(fault));
      const answer = await stampInternal(service, { hash: randomHash() });
      expect([fault, answer.status, tsa.server.received.length - before]).toEqual([fault, status, asked]);
    }
  });
});
