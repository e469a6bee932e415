import { expect, onTestFinished, test } from 'vitest';
import { createTreeHeadBuilder } from '../../src/shared/domain/proofs.ts';
import { hexOf } from '../../src/shared/proof/octets.js';
import type { OutputRecord } from '../../src/shared/store/outputs.ts';
import { findChainFault } from '../support/chain-fault.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { tries } from '../support/depth.ts';
import { eventually, type JsonAnswer, randomHash, sha256, verifyById } from '../support/requests.ts';
import { addWorker, addWorkerProcess, type Service, startPart, startProcesses, startService } from '../support/service.ts';
import { completeWorkflow, readPage, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const settings = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0', STAMP_WAIT_MS: '60000' };

/** The stored chain, in order. */
async function chainOf(service: Service, { id }: StartedWorkflow): Promise<OutputRecord[]> {
  const outputs = (await openDatabase(service)).collection<OutputRecord>('outputs');
  return outputs.find({ workflowId: id, kind: 'output' }).sort({ _id: 1 }).toArray();
}

/** Checks that outputs are numbered 1 … n and recompute, and that each 201 has the stored number. */
function expectChain(workflow: StartedWorkflow, chain: readonly OutputRecord[], answers: readonly JsonAnswer[]): void {
  expect(chain.map(({ sequenceNumber }) => sequenceNumber)).toEqual(chain.map((_, index) => index + 1));
  const links = chain.map((record) => ({ ...record, outputHash: record.hash }));
  expect(findChainFault(workflow.briefingHash, links)).toBeUndefined();
  expect(new Set(chain.map(({ tokenId }) => tokenId)).size).toBe(chain.length);
  const stored = chain.map(({ outputId, tokenId, sequenceNumber }) => JSON.stringify([outputId, tokenId, sequenceNumber]));
  const answered = answers
    .filter(({ status }) => status === 201)
    .map(({ body }) => JSON.stringify([body.output_id, body.stamp_token_id, body.sequence_number]));
  expect(answered.filter((output) => !stored.includes(output))).toEqual([]);
  expect(new Set(answered).size).toBe(answered.length);
}

const rootOf = (hashes: readonly string[]): string => {
  const tree = createTreeHeadBuilder();
  for (const hash of hashes) tree.append(Buffer.from(hash, 'hex'));
  return hexOf(tree.head().rootHash);
};

const rootStamps = async (service: Service, root: string) =>
  collectionOf(await openDatabase(service), 'stamps').countDocuments({ 'imprint.digest': root });

const burst = tries(200, 60);

test(`W8: ${burst} stamps at once into one workflow, workers killed meanwhile: each stored once, in a chain that recomputes`, async () => {
  const service = await startService({ workers: 0, settings });
  const mortals = await Promise.all([addWorkerProcess(service), addWorkerProcess(service)]);
  const workflow = await startWorkflow(service);
  const answers: JsonAnswer[] = [];
  const clients = Array.from({ length: burst }, async (_, index) => {
    // In waves, so that work is running whenever a worker dies.
    await eventually(async () => answers.length >= (index - burst / 5) * 0.8);
    answers.push(await stampOutput(service, workflow));
  });
  for (const [index, worker] of mortals.entries()) {
    await eventually(async () => answers.length > burst * (0.1 + 0.3 * index));
    await worker.kill();
    await service.startWorker();
  }
  await Promise.all(clients);
  expect(answers.map(({ status }) => status)).toEqual(Array(burst).fill(201));
  const chain = await chainOf(service, workflow);
  expect(chain).toHaveLength(burst);
  expectChain(workflow, chain, answers);
  expect((await completeWorkflow(service, workflow)).body.output_count).toBe(burst);
}, 150_000);

test('W8: outputs that Redis acknowledged are numbered even if the API process that accepted them is killed', async () => {
  const service = await startProcesses({ workers: 0, settings });
  const workflow = await startWorkflow(service);
  const hashes = Array.from({ length: 20 }, randomHash);
  const broken = hashes.map((output_hash) => stampOutput(service, workflow, { output_hash }).catch((error: Error) => error));
  const { dumpRedis } = await import('../support/redis-dump.ts');
  await eventually(async () => {
    const queued = await dumpRedis(service.settings.REDIS_URL ?? '');
    return hashes.every((hash) => queued.includes(hash));
  });
  await service.kill();
  for (const outcome of await Promise.all(broken)) expect(outcome).toBeInstanceOf(Error);
  await addWorker(service);
  const chain = await eventually(async () => {
    const found = await chainOf(service, workflow);
    return found.length === 20 && found;
  });
  expectChain(workflow, chain, []);
  expect(chain.map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
}, 60_000);

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

  expect(new Set(completions.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(completions.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([201, 409]));
  const chain = await chainOf(service, workflow);
  expectChain(workflow, chain, answers);
  expect(chain).toHaveLength(answers.filter(({ status }) => status === 201).length);
  expect(completions[0]?.body.output_count).toBe(chain.length);
  const root = rootOf(chain.map(({ hash }) => hash));
  expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).toContain(root);
  expect(await rootStamps(service, root)).toBe(1);
}, 60_000);

test('W9, W18: a completion continues after a crash at any step; root and closing record are stamped once', async () => {
  const service = await startService({ settings });
  const db = await openDatabase(service);
  const workflows = collectionOf(db, 'workflows');
  const stamps = collectionOf(db, 'stamps');
  const hashes = [randomHash(), randomHash(), randomHash()];
  const completed = async () => {
    const workflow = await startWorkflow(service);
    for (const output_hash of hashes) await stampOutput(service, workflow, { output_hash });
    expect((await completeWorkflow(service, workflow)).status).toBe(200);
    return workflow;
  };
  const root = rootOf(hashes);
  interface Ids {
    readonly root: string;
    readonly record: string;
  }
  const idsOf = async (id: string): Promise<Ids> => {
    const { closing, closingRecord } = (await workflows.findOne({ _id: id })) as unknown as {
      closing: { rootTokenId: string };
      closingRecord: { tokenId: string };
    };
    return { root: closing.rootTokenId, record: closingRecord.tokenId };
  };
  /** The state after a crash: each step undoes one more of the last steps. */
  const crashes: ((id: string, ids: Ids) => Promise<unknown>)[] = [
    async (id) => workflows.updateOne({ _id: id }, { $set: { status: 'closing' }, $unset: { completedAt: '' } }),
    async (_, ids) => stamps.deleteOne({ _id: ids.record }),
    async (id) => workflows.updateOne({ _id: id }, { $unset: { closingRecord: '', encryptedSalts: '' } }),
    async (_, ids) => stamps.deleteOne({ _id: ids.root }),
    async (id) => workflows.updateOne({ _id: id }, { $unset: { root: '' } }),
    async (id) => collectionOf(db, 'outputs').deleteOne({ workflowId: id, kind: 'closing' }),
  ];
  const ends = new Set<string>();
  for (let steps = 1; steps <= crashes.length; steps += 1) {
    const workflow = await completed();
    const before = await idsOf(workflow.id);
    for (const crash of crashes.slice(0, steps)) await crash(workflow.id, before);
    expect(await stampOutput(service, workflow), `after ${steps} steps`).toMatchObject({ status: 409 });
    const again = await completeWorkflow(service, workflow);
    expect([again.status, again.body.output_count], `after ${steps} steps`).toEqual([200, 3]);
    const after = await idsOf(workflow.id);
    expect(after.root).toBe(before.root);
    const record = await (await service.fetch(`/workflow/${workflow.id}/closing-record.json`)).text();
    for (const [tokenId, content_sha256] of [
      [after.root, root],
      [after.record, sha256(record)],
    ]) {
      expect((await verifyById(service, tokenId)).body, `after ${steps} steps`).toMatchObject({ valid: true, content_sha256 });
    }
    expect(again.body.completed_at).toBe((JSON.parse(record) as { completed_at: string }).completed_at);
    expect(await readPage(service, `/workflow/${workflow.id}`)).toContain('<strong>Completed');
    expect(await rootStamps(service, root)).toBe(steps);
    ends.add(record);
    // A record that no answer mentioned may be stamped and abandoned; a stored one is stamped once.
    expect(await stamps.countDocuments({ 'imprint.digest': { $in: [...ends].map((text) => sha256(text)) } })).toBe(steps);
  }
}, 60_000);

test('E11: a completion without a worker gives 504 with Retry-After; it goes on once a worker runs', async () => {
  const service = await startService({ workers: 0, settings: { ...settings, STAMP_WAIT_MS: '300' } });
  const workflow = await startWorkflow(service);
  const { status, headers, body } = await completeWorkflow(service, workflow);
  expect([status, body.code, headers.get('retry-after')]).toEqual([504, 'completion_pending', '5']);
  await service.startWorker();
  const done = async () => (await (await service.fetch(`/workflow/${workflow.id}`)).text()).includes('<strong>Completed');
  await eventually(done);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
}, 60_000);
