import { expect, test } from 'vitest';
import { sendJson, startStub } from '../support/cli.ts';
import { installedClient } from '../support/client-package.ts';
import { recordedFetch } from '../support/recorded-fetch.ts';
import { randomHash, sha256 } from '../support/requests.ts';
import { type RunningService, serviceToken, sharedService, startService } from '../support/service.ts';
import { arrived, startReceiver, webhookSecret } from '../support/webhook-receiver.ts';

const run = { user_email: 'client@example.com', agent_id: 'agent-7', briefing: 'Paint a bridge.' };
const client = await (await installedClient()).load();
const service = await sharedService({ settings: { WEBHOOK_SECRET: webhookSecret } });

/** A client whose every request is checked against /openapi.json. */
const connect = (at: RunningService = service, options: { serviceToken?: string } = { serviceToken }) =>
  new client.Qstamp({ url: at.url, fetch: recordedFetch(at.url).fetch, ...options });

test('N1: a caller that does not wait gets id and address at once, and can wait for the stamp later', async () => {
  const idle = await startService({ workers: 0 });
  const hashes = [randomHash(), randomHash()];
  for (const options of [{ serviceToken }, {}]) {
    const qstamp = connect(idle, options);
    const accepted = await qstamp.later.stampText('a', { metadata: { run: '7' } });
    expect(accepted).toMatchObject({ status: 'accepted', verify_url: `/api/v1/verify/v1/token/${accepted.token_id}` });
    expect(await qstamp.later.stampBytes(Uint8Array.of(1), { sendContent: true })).toMatchObject({
      status: 'accepted',
      sealed_storage_url: expect.stringContaining('/api/v1/sealed/'),
    });
    const many = await qstamp.later.stampMany([hashes[0]!, { hash: hashes[1]!, metadata: { long: 'x'.repeat(5_000) } }]);
    expect(many.map(({ made, error }) => made?.token_id.length ?? error?.name)).toEqual([36, 'InvalidRequest']);
    const waiting = [qstamp.untilStamped(accepted), qstamp.untilStamped(many[0]!.made!.token_id)];
    if (idle.workers.length === 0) await idle.startWorker();
    expect((await Promise.all(waiting)).map(({ content_sha256 }) => content_sha256)).toEqual([sha256('a'), hashes[0]]);
  }
});

test('S9: a repeat with the same key gives the stamp once it exists', async () => {
  const qstamp = connect();
  const idempotencyKey = randomHash();
  const accepted = await qstamp.later.stampText('a', { idempotencyKey });
  await qstamp.untilStamped(accepted);
  expect(await qstamp.later.stampText('a', { idempotencyKey })).toMatchObject({ token_id: accepted.token_id, content_sha256: sha256('a') });
});

test('waits for an unknown stamp until the signal aborts', async () => {
  const waiting = connect().untilStamped('01a200f2-0f4b-734d-866a-e67e7c47f5d8', { signal: AbortSignal.timeout(1_500) });
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('asks the service to wait less than the time limit of one try', async () => {
  const results: object[] = [];
  const stub = await startStub((response) => sendJson(response, 200, results.length > 1 ? results.shift()! : results[0]!));
  const preferences: (string | undefined)[] = [];
  for (const timeout of [60_000, 5_000, 1_000]) {
    results.splice(0, Infinity, { valid: false, reason: 'unknown_token_id: no stamp' }, { valid: true, reason: null });
    const seen = stub.seen.length;
    expect(await new client.Qstamp({ url: stub.url, timeout }).untilStamped('x')).toMatchObject({ valid: true });
    preferences.push(...stub.seen.slice(seen).map(({ headers }) => headers.prefer as string | undefined));
  }
  expect(preferences).toEqual(['wait=10', 'wait=10', 'wait=2', 'wait=2', undefined, undefined]);
});

test('N6: outputs without a waiting caller keep the order of the calls, and join before completion', async () => {
  const qstamp = connect();
  const outputs = [1, 2, 3].map((place) => ({ output_hash: sha256(`of many ${place}`), output_type: 'image' }));
  const workflow = await qstamp.workflow(run, async (each) => {
    const first = each.later.stampText('first');
    const many = each.later.stampMany(outputs);
    const last = each.stampText('last');
    expect(await first).toMatchObject({ status: 'accepted' });
    expect((await many).map(({ made }) => made)).toMatchObject([{ status: 'accepted' }, { status: 'accepted' }, { status: 'accepted' }]);
    expect((await last).sequence_number).toBe(5);
    await each.later.stampHash(randomHash(), { output_type: 'code' });
    return each;
  });
  expect(await workflow.state()).toMatchObject({ status: 'completed', output_count: 6 });
});

test('N2, N3, N6: a requested webhook contains the answer of the call, signed', async () => {
  const { url: callback_url, received } = await startReceiver();
  const payload = async (place: number) => {
    const { body, headers } = (await arrived(received, place + 1))[place]!;
    return client.verifyWebhook(body, headers, { secret: webhookSecret });
  };
  const qstamp = connect();
  const stamp = await qstamp.stampText('tell me', { callback_url });
  expect(await payload(0)).toEqual(stamp);
  const [one] = await qstamp.later.stampMany([{ hash: randomHash(), callback_url }, randomHash()]);
  expect(await payload(1)).toMatchObject({ token_id: one?.made?.token_id, tier: 'basic' });
  await qstamp.workflow({ ...run, callback_url }, async (workflow) => {
    expect(await workflow.stampText('done', { callback_url })).toEqual(await payload(2));
    await workflow.later.stampMany([{ output_hash: randomHash(), output_type: 'text', callback_url }]);
    expect(await payload(3)).toMatchObject({ sequence_number: 2 });
  });
  expect(await payload(4)).toMatchObject({ status: 'completed', output_count: 2 });
  await expect(connect(service, {}).stampText('a', { callback_url })).rejects.toThrow('service token');
});
