import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { createBatchStore } from '../../src/shared/store/batches.ts';
import { createCounterStore, type HourCounts } from '../../src/shared/store/counters.ts';
import type { OutputRecord } from '../../src/shared/store/outputs.ts';
import { createRenewalStore } from '../../src/shared/store/renewals.ts';
import { findChainFault } from './chain-fault.ts';
import { collectionOf, openDatabase } from './database.ts';
import { eventually, type JsonAnswer, randomHash, stampInternal } from './requests.ts';
import { type PrivateServer, startPrivateMongo } from './servers.ts';
import type { RunningService } from './service.ts';
import { share } from './shared.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from './workflows.ts';

/** The effect of one fault on clients; half of them send an Idempotency-Key. */
export interface FaultFigures {
  readonly fault: string;
  readonly requests: number;
  readonly 201: number;
  /** Promises to callers that do not wait. */
  readonly 202: number;
  readonly 504: number;
  readonly 503: number;
  /** Other answers. */
  readonly other: number;
  /** No answer: the connection broke, or there was no server. */
  readonly unheard: number;
  /** Got 201, 202, or 504 "accepted", but not stored. */
  readonly lost: number;
  /** Hashes that occur twice among the stamps or in the chain, although their client obeyed. */
  readonly doubled: number;
  /** Outputs that do not recompute, or have another number than in their 201. */
  readonly misnumbered: number;
  /** Got 503, but stored. */
  readonly false503: number;
  /** Got 504 "did not confirm", and not stored: a true answer, and its cost. */
  readonly untaken: number;
  /** The difference between the counters and the stored stamps, once all have arrived. */
  readonly miscounted: number;
  /** The same after these hours were recounted. */
  readonly miscountedStill: number;
  /** Milliseconds from the end of the fault to the next 201. */
  readonly recoveryMs: number;
  /** The longest time without a 201, in milliseconds. */
  readonly silenceMs: number;
}

interface Told {
  readonly hash: string;
  readonly at: number;
  /** Undefined if the connection broke. */
  readonly answer: JsonAnswer | undefined;
}

/** The connection was refused: the request was certainly not sent. */
const wasRefused = (error: unknown): boolean =>
  error instanceof TypeError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';

/** How long a client waits without an instruction. */
const retryMs = 200;

interface FaultOptions {
  readonly name: string;
  readonly service: RunningService;
  /** A multiple of eight: half make stamps, half stamp outputs of one workflow; half of each use an Idempotency-Key. One of eight does not wait. */
  readonly clients: number;
  /** Breaks something, repairs it, and resolves. */
  readonly fault: () => Promise<unknown>;
}

/** The MongoDB that the test files of this process share and may break. Each test uses its own database, and leaves the server running. */
export const breakableMongo = (): Promise<PrivateServer> => share('breakable MongoDB', startPrivateMongo, (mongo) => mongo.dispose());

/**
 * Keeps clients busy while something breaks and for a while afterwards, and then counts. A client sends one request after the other, and
 * repeats it if allowed: after a 503, obeying `Retry-After`; if there was no server; and with an Idempotency-Key until it has a 201.
 */
export async function runFault({ name, service, clients, fault }: FaultOptions): Promise<FaultFigures> {
  const workflow = await startWorkflow(service);
  const told: Told[] = [];
  let isOver = false;

  const send = (client: number, hash: string): Promise<JsonAnswer> => {
    const headers: Record<string, string> = client % 4 < 2 ? {} : { 'idempotency-key': hash };
    if (client % 8 === 6) headers.prefer = 'respond-async';
    return client % 2 ? stampOutput(service, workflow, { output_hash: hash }, headers) : stampInternal(service, { hash }, headers);
  };

  /** Whether the client sends the same request again. */
  async function askOnce(client: number, hash: string): Promise<boolean> {
    try {
      const answer = await send(client, hash);
      told.push({ hash, at: Date.now(), answer });
      if (answer.status === 503) await delay(Number(answer.headers.get('retry-after')) * 1_000);
      return answer.status === 503 || (client % 4 >= 2 && answer.status === 504);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      told.push({ hash, at: Date.now(), answer: undefined });
      await delay(retryMs);
      return client % 4 >= 2 || wasRefused(error);
    }
  }

  async function runClient(client: number): Promise<void> {
    while (!isOver) {
      const hash = randomHash();
      while ((await askOnce(client, hash)) && !isOver);
    }
  }

  const running = Array.from({ length: clients }, (_, client) => runClient(client));
  await eventually(async () => told.length >= 2 * clients);
  await fault();
  const endedAt = Date.now();
  const firstAfter = await eventually(async () => told.find(({ at, answer }) => at > endedAt && answer?.status === 201), 60_000);
  const heardThen = told.length;
  await eventually(async () => told.length >= heardThen + 4 * clients, 60_000);
  isOver = true;
  await Promise.all(running);
  return { fault: name, ...(await count(service, workflow, told)), recoveryMs: firstAfter.at - endedAt, silenceMs: longestSilence(told) };
}

function longestSilence(told: readonly Told[]): number {
  const times = told.flatMap(({ at, answer }) => (answer?.status === 201 ? at : []));
  return Math.max(...times.slice(1).map((at, index) => at - times[index]!));
}

/** The outputs of a workflow in order, the first one that does not recompute, and the outputs that are stored otherwise than answered. */
export async function readChain(service: RunningService, { id, briefingHash }: StartedWorkflow, answers: readonly JsonAnswer[]) {
  const outputs = (await openDatabase(service)).collection<OutputRecord>('outputs');
  const chain = await outputs.find({ workflowId: id, kind: 'output' }).sort({ _id: 1 }).toArray();
  const fault = findChainFault(
    briefingHash,
    chain.map((record) => ({ ...record, outputHash: record.hash })),
  );
  const stored = new Map(chain.map((record) => [record.outputId, record]));
  const misstated = answers.filter(({ status, body }) => {
    const { tokenId, sequenceNumber } = stored.get(String(body.output_id)) ?? {};
    return status === 201 && 'output_id' in body && (tokenId !== body.stamp_token_id || sequenceNumber !== body.sequence_number);
  });
  return { chain, faults: [fault, ...misstated].filter((one) => one !== undefined) };
}

const duplicatesIn = (hashes: readonly string[]): number => hashes.length - new Set(hashes).size;

async function count(service: RunningService, workflow: StartedWorkflow, told: readonly Told[]) {
  const db = await openDatabase(service);
  const answers = told.flatMap(({ answer }) => answer ?? []);
  const statusIs = (status: number) => answers.filter((answer) => answer.status === status);
  const isMaybe = ({ body }: JsonAnswer) => String(body.detail).startsWith('The queue did not confirm');
  const idOf = ({ body }: JsonAnswer) => String(body.stamp_token_id ?? body.token_id);
  const storedIds = async () => new Set((await collectionOf(db, 'stamps').find({}).toArray()).map(({ _id }) => _id));
  const promised = [...statusIs(201), ...statusIs(202), ...statusIs(504).filter((each) => !isMaybe(each))].map(idOf);
  const missing = async () => new Set(promised).difference(await storedIds()).size;
  const lost = await eventually(async () => (await missing()) === 0 && { count: 0 }, 30_000).catch(async () => ({
    count: await missing(),
  }));

  const rows = db.collection<HourCounts>('counts');
  const miscount = async () => {
    const counted = (await rows.find({}).toArray()).reduce((sum, { done }) => sum + (done?.stamps ?? 0), 0);
    return counted - (await collectionOf(db, 'stamps').countDocuments());
  };
  const miscounted = await eventually(async () => (await miscount()) === 0 && { by: 0 }, 15_000).catch(async () => ({
    by: await miscount(),
  }));
  const counters = createCounterStore(db, { batches: createBatchStore(db, createRenewalStore(db)), log: pino({ level: 'silent' }) });
  if (miscounted.by !== 0) await counters.recount(told[0]!.at, Date.now());

  const hashes = new Set(told.map(({ hash }) => hash));
  const stamps = (await collectionOf(db, 'stamps').find({}).toArray()) as unknown as { imprint: { digest: string }; requestId: string }[];
  const { chain, faults } = await readChain(service, workflow, answers);
  const ours = stamps.filter(({ imprint }) => hashes.has(imprint.digest));
  const refusedIds = new Set(statusIs(503).map(({ body }) => String(body.request_id)));
  const known = await storedIds();
  return {
    requests: told.length,
    201: statusIs(201).length,
    202: statusIs(202).length,
    504: statusIs(504).length,
    503: statusIs(503).length,
    other: answers.filter(({ status }) => ![201, 202, 503, 504].includes(status)).length,
    unheard: told.length - answers.length,
    lost: lost.count,
    miscounted: miscounted.by,
    miscountedStill: await miscount(),
    doubled: duplicatesIn(ours.map(({ imprint }) => imprint.digest)) + duplicatesIn(chain.map(({ hash }) => hash)),
    misnumbered: faults.length,
    false503: ours.filter(({ requestId }) => refusedIds.has(requestId)).length,
    untaken: statusIs(504).filter((each) => isMaybe(each) && !known.has(idOf(each))).length,
  };
}
