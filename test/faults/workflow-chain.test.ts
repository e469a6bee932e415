import { expect, onTestFinished, test } from 'vitest';
import { createTreeHeadBuilder } from '../../src/shared/domain/proofs.ts';
import { hexOf } from '../../src/shared/proof/octets.js';
import { collectionOf, openDatabase } from '../support/database.ts';
import { tries } from '../support/depth.ts';
import { readChain } from '../support/fault-run.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { eventually, type JsonAnswer, randomHash, sha256, verifyById } from '../support/requests.ts';
import { addWorker, type Service, startPart, startProcesses, startService } from '../support/service.ts';
import { completeWorkflow, readPage, stampOutput, startWorkflow } from '../support/workflows.ts';

const settings = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0', STAMP_WAIT_MS: '60000' };

const rootOf = (hashes: readonly string[]): string => {
  const tree = createTreeHeadBuilder();
  for (const hash of hashes) tree.append(Buffer.from(hash, 'hex'));
  return hexOf(tree.head().rootHash);
};

test('W8: outputs that Redis acknowledged are numbered even if the API process that accepted them is killed', async () => {
  const service = await startProcesses({ workers: 0, settings });
  const workflow = await startWorkflow(service);
  const hashes = Array.from({ length: 20 }, randomHash);
  const broken = hashes.map((output_hash) => stampOutput(service, workflow, { output_hash }).catch((error: Error) => error));
  await eventually(async () => {
    const queued = await dumpRedis(service.settings.REDIS_URL ?? '');
    return hashes.every((hash) => queued.includes(hash));
  });
  await service.kill();
  for (const outcome of await Promise.all(broken)) expect(outcome).toBeInstanceOf(Error);
  await addWorker(service);
  await eventually(async () => (await readChain(service, workflow, [])).chain.length === hashes.length);
  const { chain, faults } = await readChain(service, workflow, []);
  expect([chain.map(({ hash }) => hash).toSorted(), faults]).toEqual([hashes.toSorted(), []]);
});

test('W9: completion during running stamps includes each that got 201 and refuses the others with 409', async () => {
  const service = await startService({ workers: 2, settings });
  const twin = await startPart('api', service.settings);
  onTestFinished(async () => void (await twin.stop()));
  const other: Service = { ...service, ...twin, fetch: (path, init) => fetch(`${twin.url}${path}`, init) };
  const workflow = await startWorkflow(service);
  const answers: JsonAnswer[] = [];
  let isOver = false;
  const clients = Array.from({ length: tries(24, 12) }, async (_, index) => {
    while (!isOver) {
      const answer = await stampOutput(index % 2 ? service : other, workflow);
      answers.push(answer);
      if (answer.status !== 201) return;
    }
  });
  await eventually(async () => answers.length > 40);
  const completions = await Promise.all(Array.from({ length: 10 }, (_, index) => completeWorkflow(index % 2 ? service : other, workflow)));
  await Promise.all(clients);
  isOver = true;

  expect(new Set(completions.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
  const { chain, faults } = await readChain(service, workflow, answers);
  expect([faults, chain.length]).toEqual([[], answers.filter(({ status }) => status === 201).length]);
  expect(completions[0]).toMatchObject({ status: 200, body: { output_count: chain.length } });
  const root = rootOf(chain.map(({ hash }) => hash));
  expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).toContain(root);
  const stamps = collectionOf(await openDatabase(service), 'stamps');
  expect(await stamps.countDocuments({ 'imprint.digest': root })).toBe(1);
});

test('W9, W18: a completion continues after a crash at any step; root and closing record are stamped once', async () => {
  const service = await startService({ settings });
  const db = await openDatabase(service);
  const [workflows, stamps] = [collectionOf(db, 'workflows'), collectionOf(db, 'stamps')];
  const countOf = (digests: readonly string[]) => stamps.countDocuments({ 'imprint.digest': { $in: digests } });
  const hashes = [randomHash(), randomHash(), randomHash()];
  const root = rootOf(hashes);
  const idsOf = async (id: string) => {
    type Closed = { closing: { rootTokenId: string }; closingRecord: { tokenId: string } };
    const { closing, closingRecord } = (await workflows.findOne({ _id: id })) as unknown as Closed;
    return { root: closing.rootTokenId, record: closingRecord.tokenId };
  };
  /** The state after a crash: each step undoes one more of the last steps. */
  const crashes: ((id: string, ids: { readonly root: string; readonly record: string }) => Promise<unknown>)[] = [
    async (id) => workflows.updateOne({ _id: id }, { $set: { status: 'closing' }, $unset: { completedAt: '' } }),
    async (_, ids) => stamps.deleteOne({ _id: ids.record }),
    async (id) => workflows.updateOne({ _id: id }, { $unset: { closingRecord: '', encryptedSalts: '' } }),
    async (_, ids) => stamps.deleteOne({ _id: ids.root }),
    async (id) => workflows.updateOne({ _id: id }, { $unset: { root: '' } }),
    async (id) => collectionOf(db, 'outputs').deleteOne({ workflowId: id, kind: 'closing' }),
  ];
  const ends = new Set<string>();
  for (let steps = 1; steps <= crashes.length; steps += 1) {
    const after = `after ${steps} steps`;
    const workflow = await startWorkflow(service);
    for (const output_hash of hashes) await stampOutput(service, workflow, { output_hash });
    expect((await completeWorkflow(service, workflow)).status).toBe(200);
    const before = await idsOf(workflow.id);
    for (const crash of crashes.slice(0, steps)) await crash(workflow.id, before);
    expect((await stampOutput(service, workflow)).status, after).toBe(409);
    const again = await completeWorkflow(service, workflow);
    const ids = await idsOf(workflow.id);
    const record = await (await service.fetch(`/workflow/${workflow.id}/closing-record.json`)).text();
    const { completed_at } = JSON.parse(record);
    expect([again, ids.root], after).toMatchObject([{ status: 200, body: { output_count: 3, completed_at } }, before.root]);
    for (const [id, content_sha256] of [
      [ids.root, root],
      [ids.record, sha256(record)],
    ])
      expect((await verifyById(service, id)).body, after).toMatchObject({ valid: true, content_sha256 });
    expect(await readPage(service, `/workflow/${workflow.id}`)).toContain('<strong>Record closed');
    ends.add(sha256(record));
    // The first two steps leave the record: it is never replaced.
    expect(ids.record === before.record, after).toBe(steps < 3);
    // A record that no answer mentioned may be stamped and abandoned; a stored one is stamped once.
    expect([await countOf([root]), await countOf([...ends])], after).toEqual([steps, steps]);
  }
});

test('E11: a completion without a worker gives 504 with Retry-After; it goes on once a worker runs', async () => {
  const service = await startService({ workers: 0, settings: { ...settings, STAMP_WAIT_MS: '300' } });
  const workflow = await startWorkflow(service);
  const { status, headers, body } = await completeWorkflow(service, workflow);
  expect([status, body.code, headers.get('retry-after')]).toEqual([504, 'completion_pending', '5']);
  await service.startWorker();
  const done = async () => (await (await service.fetch(`/workflow/${workflow.id}`)).text()).includes('<strong>Record closed');
  await eventually(done);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
});
