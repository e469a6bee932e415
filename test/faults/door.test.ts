import { expect, test } from 'vitest';
import { runOperator } from '../support/cli.ts';
import { tries } from '../support/depth.ts';
import { makeOwnKey, ownKeySettings } from '../support/own-key.ts';
import { eventually, getJson, internalHeaders, verifyById, verifyRaw } from '../support/requests.ts';
import { addWorkerProcess, type Service, startService } from '../support/service.ts';
import { type DoorReply, postToDoor, randomDigest, statusOf } from '../support/tsa-door.ts';
import { ask } from '../support/tsa-lab.ts';

const dayAt = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** The time-stamps granted and failed at the door, without other callers. */
async function talliesOf(service: Service): Promise<{ stamps: number; failed: number }> {
  const { body } = await getJson(service, '/api/v1/internal/stats/daily?days=1', internalHeaders);
  const rows = (body as unknown as { caller_kind: string; stamps: number; failed: number }[]).filter(
    ({ caller_kind }) => caller_kind === 'tsa',
  );
  return { stamps: rows.reduce((sum, row) => sum + row.stamps, 0), failed: rows.reduce((sum, row) => sum + row.failed, 0) };
}

test('workers killed during door requests: granted tokens are stored octet for octet, and waiting ones are made (T1, S7, E11)', async () => {
  const startedAtMs = Date.now();
  const settings = { ...ownKeySettings(makeOwnKey()), RATE_TSA_PER_MINUTE: '0' };
  const service = await startService({ settings, workers: 0 });
  const [first, second] = await Promise.all([addWorkerProcess(service), addWorkerProcess(service)]);
  const answers: { digest: Buffer; reply: DoorReply }[] = [];
  const perClient = tries(20, 5);
  const total = 32 * perClient;
  const clients = Array.from({ length: 32 }, async () => {
    for (let request = 0; request < perClient; request += 1) {
      const digest = randomDigest('sha256');
      answers.push({ digest, reply: await postToDoor(service, ask({ digest }).der) });
    }
  });
  await eventually(async () => answers.length > total * 0.2);
  await first.kill();
  await service.startWorker();
  await eventually(async () => answers.length > total * 0.5);
  await second.kill();
  await Promise.all(clients);

  const said = new Set(answers.map(({ reply }) => `${reply.status} ${statusOf(reply)}`));
  expect(said.difference(new Set(['200 granted', '200 waiting']))).toEqual(new Set());
  const ids = new Set(answers.map(({ reply }) => reply.headers.get('qstamp-stamp-id')));
  expect(ids.size).toBe(total);
  for (const { digest, reply } of answers) {
    const tokenId = reply.headers.get('qstamp-stamp-id');
    const stored = await eventually(async () => {
      const { body } = await verifyById(service, tokenId);
      return body.valid === true && body;
    });
    expect(stored.content_sha256).toBe(digest.toString('hex'));
    if (statusOf(reply) !== 'granted') continue;
    expect((await verifyRaw(service, reply.body.toString('base64'))).body).toMatchObject({ valid: true, token_id: tokenId });
  }
  // A killed worker has not written its last counts.
  await eventually(async () => {
    await runOperator(['recount', dayAt(startedAtMs), dayAt(Date.now() + 86_400_000)], service.settings);
    return (await talliesOf(service)).stamps === total;
  });
  expect((await talliesOf(service)).failed).toBe(0);
});
