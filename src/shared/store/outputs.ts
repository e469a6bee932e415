import type { Collection, Db, FindOptions } from 'mongodb';
import { extendChain } from '../domain/proofs.ts';
import { type ChainEnd, type ChainLink, chainStart } from '../proof/output-chain.js';
import { eachInStore, inStore, isDuplicateKey, maxTimeMS } from './connection.ts';

/** A stamped output, before it is appended to the chain of its workflow. */
export interface NewOutput {
  readonly outputId: string;
  /** The id of the output's stamp. An output with this id is appended only once, even after several tries. */
  readonly tokenId: string;
  readonly hash: string;
  readonly type: string;
  /** JSON, encrypted with the workflow's key. It is deleted when the workflow is redacted. */
  readonly metadata: string | undefined;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
}

interface ChainRecord {
  /** Workflow and number (`keyOf`). The key is unique, so each number is assigned once. Ids sort like the chain. */
  readonly _id: string;
  readonly workflowId: string;
  readonly sequenceNumber: number;
  readonly chainHash: string;
  /** The number of outputs, up to this one, whose provider is not qualified. */
  readonly unqualifiedTotal: number;
}

export interface OutputRecord extends ChainRecord, NewOutput {
  readonly kind: 'output';
}

/** The last record of a closed chain. It takes the next number, so no output can get this number and follow. */
interface ClosingLink extends ChainRecord {
  readonly kind: 'closing';
  /** The id of the root's stamp. */
  readonly tokenId: string;
}

/** A chain, named by its workflow, and the hash with which it starts. */
export interface ChainOf {
  readonly workflowId: string;
  readonly briefingHash: string;
}

/** The current end of a stored chain. */
export interface ChainState extends ChainEnd {
  readonly unqualifiedTotal: number;
  /** If true, no output can follow. */
  readonly isClosed: boolean;
}

/** The id of a record in a chain. Ids of one workflow sort like the numbers. */
const keyOf = (workflowId: string, sequenceNumber: number): string => `${workflowId}/${String(sequenceNumber).padStart(12, '0')}`;

/** Ids are `<workflow>/<number>`. In ASCII, `0` comes directly after `/`, so all ids of a workflow are between these two limits. */
const rangeOf = (workflowId: string) => ({ $gt: `${workflowId}/`, $lt: `${workflowId}0` });

/** The number of links in one read. */
const scanPage = 5_000;

/** The fields of a record that make a link of the chain. */
const linkFields = { _id: 0, kind: 1, sequenceNumber: 1, chainHash: 1, hash: 1 } as const;

export type OutputStore = ReturnType<typeof createOutputStore>;

/** Stores the outputs of workflows. The outputs of each workflow are an append-only chain (W8). */
export function createOutputStore(db: Db) {
  const outputs: Collection<OutputRecord | ClosingLink> = db.collection('outputs');
  let isIndexed = false;

  /** The chain is only correct with this unique index, so it must exist before the first output is written. */
  async function ensureUnique(): Promise<void> {
    if (!isIndexed) await outputs.createIndex({ tokenId: 1 }, { unique: true });
    isIndexed = true;
  }

  const findLast = (workflowId: string) =>
    outputs.findOne({ _id: rangeOf(workflowId) }, { sort: { _id: -1 }, hint: { _id: 1 }, maxTimeMS });

  async function findByTokens(tokenIds: readonly string[]): Promise<OutputRecord[]> {
    const found = await outputs.find({ tokenId: { $in: [...tokenIds] } }, { maxTimeMS }).toArray();
    return found.filter((record) => record.kind === 'output');
  }

  /** Reads `limit` records of a chain from number `first` on, in order, and returns the outputs among them. */
  async function scan(workflowId: string, first: number, limit: number, options: FindOptions = {}): Promise<OutputRecord[]> {
    const range = { ...rangeOf(workflowId), $gte: keyOf(workflowId, first) };
    const found = outputs
      .find({ _id: range }, { ...options, maxTimeMS })
      .hint({ _id: 1 })
      .sort({ _id: 1 })
      .limit(limit);
    return (await found.toArray()).filter((record) => record.kind === 'output');
  }

  function link({ workflowId, briefingHash }: ChainOf, last: OutputRecord | null, waiting: readonly NewOutput[]): OutputRecord[] {
    let end: ChainEnd = last ?? chainStart(briefingHash);
    let unqualifiedTotal = last?.unqualifiedTotal ?? 0;
    return waiting.map((output) => {
      end = extendChain(end, output.hash);
      unqualifiedTotal += output.isQualified ? 0 : 1;
      return { _id: keyOf(workflowId, end.sequenceNumber), workflowId, kind: 'output', ...output, ...end, unqualifiedTotal };
    });
  }

  /** Resolves to true if all records were written, and to false if a key is taken: then only the records before this one were written. */
  async function tryInsert(records: readonly (OutputRecord | ClosingLink)[]): Promise<boolean> {
    try {
      await outputs.insertMany([...records], { ordered: true });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Yields the links of a chain from number `first` on, in order. It reads one page at a time, so memory use does not grow with the chain. */
  async function* scanLinks(workflowId: string, first = 1): AsyncIterable<ChainLink> {
    for (let next = first; ; ) {
      const page = await inStore(() => scan(workflowId, next, scanPage, { projection: linkFields }));
      yield* page.map((record) => ({ ...record, outputHash: record.hash }));
      if (page.length < scanPage) return;
      next = page.at(-1)!.sequenceNumber + 1;
    }
  }

  const store = eachInStore({
    /**
     * Appends outputs with the next free numbers, without gaps and each output once. Returns the given outputs that are now in the chain, by token
     * id, even if an earlier call appended them. Outputs that came after the closing link are absent.
     */
    append: async (chain: ChainOf, given: readonly NewOutput[]): Promise<Map<string, OutputRecord>> => {
      const appended = new Map<string, OutputRecord>();
      let waiting = given;
      const take = (records: readonly OutputRecord[]) => {
        for (const record of records) appended.set(record.tokenId, record);
        waiting = waiting.filter(({ tokenId }) => !appended.has(tokenId));
      };
      await ensureUnique();
      for (let endBefore: string | undefined; waiting.length > 0; ) {
        const end = await findLast(chain.workflowId);
        const endId = end?._id ?? '';
        if (end?.kind === 'closing') {
          take(await findByTokens(waiting.map(({ tokenId }) => tokenId)));
          break;
        }
        const records = link(chain, end, waiting);
        const left = waiting.length;
        // If a key is taken, another process has taken the number, or an earlier run of the same job has appended the output.
        take((await tryInsert(records)) ? records : await findByTokens(waiting.map(({ tokenId }) => tokenId)));
        // The end of the chain has not moved, and still a key is taken: without this error, the loop would never end.
        if (waiting.length === left && endId === endBefore)
          throw new Error(`the chain of workflow ${chain.workflowId} does not accept outputs`);
        endBefore = endId;
      }
      return appended;
    },
    /** Appends the closing link, or returns the existing one. */
    close: async ({ workflowId, briefingHash }: ChainOf, rootTokenId: string): Promise<ClosingLink> => {
      await ensureUnique();
      for (;;) {
        const end = await findLast(workflowId);
        if (end?.kind === 'closing') return end;
        const { sequenceNumber, chainHash } = end ?? chainStart(briefingHash);
        const closing: ClosingLink = {
          _id: keyOf(workflowId, sequenceNumber + 1),
          workflowId,
          kind: 'closing',
          tokenId: rootTokenId,
          sequenceNumber: sequenceNumber + 1,
          chainHash,
          unqualifiedTotal: end?.unqualifiedTotal ?? 0,
        };
        if (await tryInsert([closing])) return closing;
      }
    },
    /** Finds the last output of a chain (number 0 and the briefing hash if it was closed without outputs). Undefined if nothing is written yet. */
    findEnd: async (workflowId: string): Promise<ChainState | undefined> => {
      const end = await findLast(workflowId);
      if (!end) return undefined;
      const { chainHash, unqualifiedTotal } = end;
      const isClosed = end.kind === 'closing';
      return { sequenceNumber: isClosed ? end.sequenceNumber - 1 : end.sequenceNumber, chainHash, unqualifiedTotal, isClosed };
    },
    findByTokens,
    /** Lists at most `limit` outputs from number `first` on, in order. */
    list: (workflowId: string, first: number, limit: number): Promise<OutputRecord[]> => scan(workflowId, first, limit),
    /** Finds the numbers of the outputs with this hash, at most `limit`. */
    findNumbers: async (workflowId: string, hash: string, limit: number): Promise<number[]> => {
      const found = await outputs.find({ workflowId, hash }, { projection: { sequenceNumber: 1 }, maxTimeMS }).toArray();
      return found
        .map(({ sequenceNumber }) => sequenceNumber)
        .sort((a, b) => a - b)
        .slice(0, limit);
    },
    /** Deletes the caller's metadata of all outputs of a workflow. */
    forgetMetadata: async (workflowId: string): Promise<void> => {
      await outputs.updateMany({ _id: rangeOf(workflowId), metadata: { $exists: true } }, { $unset: { metadata: '' } });
    },
  });
  return { ...store, scanLinks };
}
