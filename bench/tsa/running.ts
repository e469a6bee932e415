import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Db, MongoClient } from 'mongodb';
import { newMasterKey } from '../../scripts/stack/master-key.ts';
import { cpuSecondsOf, ours, type RunningProcesses, startProcesses } from '../processes.ts';

/** A service to measure: its name, and the provider for its stamps. */
export interface Contender {
  readonly name: string;
  /** Undefined: the mock provider. */
  readonly tsa?: { readonly isAggregating: boolean /** The TSA's delay, in milliseconds. */; readonly awayMs: number };
}

export interface Servers {
  readonly redisUrl: string;
  readonly mongoUrl: string;
}

/** Starts a development TSA in its own process. */
export async function startTsa() {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-bench-tsa-'));
  const tsa = await startProcesses(['bench/tsa/distant-tsa.ts'], { ...process.env, TSA_STATE_DIR: dir });
  return {
    /** The settings of a service that uses this TSA. Writes the providers file for them. */
    settingsFor: ({ name, tsa: wanted }: Contender): NodeJS.ProcessEnv => {
      if (!wanted) return { TSP: 'mock' };
      const { isAggregating, awayMs } = wanted;
      const url = awayMs > 0 ? `${tsa.url}/?away=${awayMs}` : tsa.url;
      const file = join(dir, `${name.replaceAll(' ', '-')}.json`);
      const entry = {
        name: 'local-tsa',
        url,
        trust_anchors_file: 'root.pem',
        max_concurrent: 256,
        ...(isAggregating && { aggregate: {} }),
      };
      writeFileSync(file, JSON.stringify([entry]));
      return { TSP: 'file', TSP_PROVIDERS_FILE: file };
    },
    stop: async () => {
      await tsa.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

/** Facts about the contents of a database. */
export interface Stored {
  readonly stamps: number;
  /** The number of TSA signatures: those of batches, and those of stamps with their own token. */
  readonly asks: number;
  /** The size of the collections of stamps and batches, with their indexes. */
  readonly bytes: number;
}

/** A service with its own database: one worker and one API. */
export interface RunningService extends RunningProcesses {
  readonly stored: () => Promise<Stored>;
  /** The paths of the verdicts on some of its stamps. */
  readonly verdicts: () => Promise<string[]>;
  /** The CPU seconds of worker and API. */
  readonly cpuSeconds: () => { readonly worker: number; readonly api: number };
}

/** The size of a collection with its indexes, in bytes. */
export async function sizeOf(db: Db, name: string): Promise<number> {
  const stats: { storageSize?: number; totalIndexSize?: number } = await db.command({ collStats: name }).catch(() => ({}));
  return Number(stats.storageSize ?? 0) + Number(stats.totalIndexSize ?? 0);
}

let started = 0;

export async function startService({ redisUrl, mongoUrl }: Servers, settings: NodeJS.ProcessEnv): Promise<RunningService> {
  const mongo = new URL(mongoUrl);
  started += 1;
  mongo.pathname = `/bench_tsa_${started}`;
  const environment = {
    ...process.env,
    PORT: '0',
    REDIS_URL: redisUrl,
    MONGODB_URL: mongo.href,
    MASTER_KEY: newMasterKey(),
  };
  const limits = { RATE_VERIFY_PER_MINUTE: '0' };
  const running = await startProcesses(ours, { ...environment, ...limits, ...settings });
  const client = await MongoClient.connect(mongo.href, { retryWrites: false });
  const db = client.db(mongo.pathname.slice(1));
  return {
    ...running,
    stored: async () => {
      const stamps = db.collection('stamps');
      const [total, leaves, batches, ofStamps, ofBatches] = await Promise.all([
        stamps.countDocuments(),
        stamps.countDocuments({ 'proofs.kind': 'leaf' }),
        db.collection('batches').countDocuments(),
        sizeOf(db, 'stamps'),
        sizeOf(db, 'batches'),
      ]);
      return { stamps: total, asks: total - leaves + batches, bytes: ofStamps + ofBatches };
    },
    verdicts: async () => {
      const found = await db
        .collection<{ _id: string }>('stamps')
        .find({}, { projection: { _id: 1 } })
        .limit(20_000)
        .toArray();
      return found.map(({ _id }) => `/api/v1/verify/v1/token/${_id}`);
    },
    cpuSeconds: () => ({ worker: cpuSecondsOf(running.pids[0] ?? 0), api: cpuSecondsOf(running.pids[1] ?? 0) }),
    stop: async () => {
      await client.close();
      await running.stop();
    },
  };
}
