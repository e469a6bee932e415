import type { Collection, Db } from 'mongodb';
import { firstIdAt, timeOfId } from '../domain/stamp-id.ts';
import type { Clock } from '../runtime/clock.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';
import { newestIds } from './product-stamps.ts';
import type { AnyStamp } from './stamp-document.ts';

/** Stamps between two marks. */
export const blockSize = 250;

/** Marks reach back as far as anybody may list (S12), and some more. */
const mostMarks = Math.ceil(100_501 / blockSize) + 2;

/**
 * A stamp that is written this long after it was accepted is late: marks may be beyond it. Marks are made of older stamps only. What is between the two is left for the
 * clocks of several machines to differ.
 */
const lateMs = 10_000;
const settledMs = 30_000;

interface DirectoryRecord {
  /** The product. */
  readonly _id: string;
  /** Changes with every late stamp, so that no marks are stored that were made without it. */
  readonly version: number;
  /** Oldest first; after each of them there are exactly `blockSize` stamps up to the next. The empty one is before all stamps. */
  readonly marks: readonly string[];
  /** The oldest late stamp since the marks were made: those from it on do not count any more. */
  readonly rewoundTo?: string;
}

/** Where every 250th stamp of a product is, so that listing seeks and does not count (S12). */
export interface StampDirectory {
  /** Ids, oldest first; after each there are exactly `blockSize` stamps of the product up to the next. None: nothing is known. */
  marks(product: string): Promise<readonly string[]>;
  /** To be called for every stamp that was written, and again when it may not have been: marks that a late one has moved are dropped. */
  wrote(product: string, tokenIds: readonly string[]): Promise<void>;
  /** Begins the marks of a product that has few stamps. */
  begin(product: string): Promise<void>;
  /** Makes marks of what was written since the last ones, and has settled. */
  extend(product: string): Promise<void>;
  /** Drops all marks; workers make them again when they start. */
  forget(): Promise<void>;
}

const usable = ({ marks, rewoundTo }: DirectoryRecord): readonly string[] =>
  rewoundTo === undefined ? marks : marks.filter((mark) => mark < rewoundTo);

export function createStampDirectory(db: Db, clock: Clock): StampDirectory {
  const directory: Collection<DirectoryRecord> = db.collection('stamp_directory');
  const stamps: Collection<AnyStamp> = db.collection('stamps');

  const find = (product: string) => directory.findOne({ _id: product }, { maxTimeMS });

  /** Marks that others have changed meanwhile are left to them. */
  async function replace(known: DirectoryRecord | null, next: DirectoryRecord): Promise<void> {
    if (known) {
      await directory.replaceOne({ _id: known._id, version: known.version }, next);
      return;
    }
    try {
      await directory.insertOne(next);
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  async function extend(product: string): Promise<void> {
    const known = await find(product);
    const kept = known ? usable(known) : [];
    const most = mostMarks * blockSize;
    const ids = await newestIds(stamps, product, { after: kept.at(-1) ?? '', until: firstIdAt(clock() - settledMs) }, most);
    const first = kept.length > 0 && ids.length < most ? kept : [ids.length < most ? '' : ids[0]!];
    const counted = first === kept || first[0] === '' ? ids : ids.slice(1);
    const made = counted.filter((_, index) => (index + 1) % blockSize === 0);
    const version = (known?.version ?? 0) + 1;
    if (!known || made.length > 0) await replace(known, { _id: product, version, marks: [...first, ...made].slice(-mostMarks) });
  }

  return {
    marks: (product) =>
      inStore(async () => {
        const record = await find(product);
        return record ? usable(record) : [];
      }),
    wrote: async (product, tokenIds) => {
      const oldest = tokenIds.reduce((least, id) => (id < least ? id : least));
      if (clock() - timeOfId(oldest) < lateMs) return;
      const change = { $min: { rewoundTo: oldest }, $inc: { version: 1 }, $setOnInsert: { marks: [] } };
      await inStore(() => directory.updateOne({ _id: product }, change, { upsert: true }));
    },
    begin: (product) =>
      inStore(
        async () => void (await directory.updateOne({ _id: product }, { $setOnInsert: { version: 1, marks: [''] } }, { upsert: true })),
      ),
    extend: (product) => inStore(() => extend(product)),
    forget: () => inStore(async () => void (await directory.deleteMany({}))),
  };
}
