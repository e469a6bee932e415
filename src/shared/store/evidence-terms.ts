import type { Collection, Db, Filter, UpdateFilter } from 'mongodb';
import type { EvidenceTerm, Imprint } from '../domain/stamp.ts';
import { createNote, inStore, maxTimeMS } from './connection.ts';
import { never, notKnown, renewByField, type StoredEvidence } from './stored-evidence.ts';

/** The kinds of subjects. A subject is evidence that is renewed: a stamp with its own token, or a batch for all its leaves. */
export const subjectKinds = ['stamp', 'batch'] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** A subject that a renewal covers. `path`: its path to the root of the renewal's tree (blind, then siblings). */
export interface RenewedSubject {
  readonly kind: SubjectKind;
  readonly id: string;
  /** The number of the subject's earlier renewals. */
  readonly renewals: number;
  readonly path: readonly Buffer[];
  /** The document's digest in another algorithm, if the renewal covers it (S17). */
  readonly newImprint?: Imprint | undefined;
  /** For a leaf without own renewals: the number of its batch's renewals. */
  readonly batchRenewals?: number | undefined;
}

interface DueSubject {
  readonly id: string;
  readonly endsAt: Date;
}

/** A token that renewed nothing. Until the TSA has other certificates, its next token would not renew anything either. */
export interface UselessToken {
  readonly issuedAt: string;
  readonly term: EvidenceTerm;
  readonly boughtAt: Date;
}

/** A subject whose evidence cannot be renewed, in the state in which it was read. */
interface LapsedSubject {
  readonly id: string;
  /** Undefined if the term could not be read. */
  readonly term: Pick<EvidenceTerm, 'endsAt'> | undefined;
  /** The number of the subject's renewals when it was read. */
  readonly renewals: number;
}

/** Has two bounds, because DocumentDB does not use a partial index for an open range (20 000 stamps: 2 s without the index, 5 ms with it). */
const renewBy = (until: Date) => ({ [renewByField]: { $gt: new Date(0), $lte: until } });

const unknown = { [renewByField]: { $gte: notKnown, $lt: never } };

const uselessId = 'evidence-useless';

/** The fields that show whether a stamp has its own token. */
const tokenFields = { 'proofs.kind': 1, 'evidence.renewBy': 1 } as const;
const hasToken = ({ proofs }: SubjectDocument): boolean => Array.isArray(proofs) && proofs[0]?.kind === 'token';

/** Returns true for every batch, for a stamp with its own token, and for a leaf that already has its own evidence. */
const isSubject = (kind: SubjectKind, one: SubjectDocument): boolean => kind === 'batch' || hasToken(one) || one.evidence !== undefined;

interface SubjectDocument {
  readonly _id: string;
  /** Only for stamps. */
  readonly proofs?: readonly { readonly kind?: unknown }[];
  readonly evidence?: StoredEvidence;
}

export const collectionsOfSubjects = (db: Db): Readonly<Record<SubjectKind, Collection<SubjectDocument>>> => ({
  stamp: db.collection('stamps'),
  batch: db.collection('batches'),
});

/** The maximum number of changes in one bulk write. */
const subjectsPerWrite = 500;

/** Writes the change of each item, and returns the number of documents that changed. */
export async function writeInParts<T>(
  collection: Collection<SubjectDocument>,
  items: readonly T[],
  changeOf: (item: T) => { filter: Filter<SubjectDocument>; update: UpdateFilter<SubjectDocument> },
): Promise<number> {
  let changed = 0;
  for (let first = 0; first < items.length; first += subjectsPerWrite) {
    const operations = items.slice(first, first + subjectsPerWrite).map((item) => ({ updateOne: changeOf(item) }));
    changed += (await inStore(() => collection.bulkWrite(operations, { ordered: false }))).modifiedCount;
  }
  return changed;
}

/** The progress of the search for the terms of all evidence. */
export interface TermWalk {
  /** The revision of the algorithm policy with which the terms are found. */
  readonly revision: string;
  /** The last id of each kind that was checked. Absent: all were checked. */
  readonly after: Readonly<Partial<Record<SubjectKind, string>>>;
}

/** The state of all renewals. The numbers count stamps and batches. */
interface EvidenceState {
  readonly lastRunAt: Date;
  /** Evidence that was due, but that no TSA could renew. */
  readonly due: number;
  /** Evidence that expired without a renewal. */
  readonly lapsed: number;
  /** Evidence that could not be judged, so it was not renewed. */
  readonly unknown: number;
}

/** Stores the end dates of evidence, and finds the evidence that is due for renewal. Every write may be repeated. */
export function createEvidenceTermStore(db: Db) {
  const subjects = collectionsOfSubjects(db);
  const lastWalk = createNote<TermWalk>(db, 'evidence-walk', 'walk');
  const lastState = createNote<EvidenceState>(db, 'evidence', 'state');
  const count = async (filter: Filter<SubjectDocument>): Promise<number> => {
    const counts = await Promise.all(subjectKinds.map((kind) => inStore(() => subjects[kind].countDocuments(filter, { maxTimeMS }))));
    return counts.reduce((sum, one) => sum + one, 0);
  };
  const ids = { projection: { _id: 1 }, maxTimeMS } as const;
  return {
    /** Finds at most `limit` subjects that must be renewed by `until`. Those whose certificates end first come first. */
    findDue: (kind: SubjectKind, until: Date, limit: number): Promise<DueSubject[]> =>
      inStore(async () => {
        const found = await subjects[kind]
          .find(renewBy(until), { projection: { 'evidence.endsAt': 1 }, maxTimeMS })
          .sort({ 'evidence.endsAt': 1 })
          .limit(limit)
          .toArray();
        return found.map(({ _id: id, evidence }) => ({ id, endsAt: evidence?.endsAt ?? until }));
      }),
    /** Finds the next `limit` ids, after the id `after`, of subjects that could not be judged. */
    findUnknown: (kind: SubjectKind, after: string, limit: number): Promise<string[]> =>
      inStore(async () => {
        const found = await subjects[kind]
          .find({ ...unknown, _id: { $gt: after } }, ids)
          // With the index on `renewByField`, every page would sort all unknown subjects.
          .hint({ _id: 1 })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray();
        return found.map(({ _id }) => _id);
      }),
    /** Records that subjects could not be judged. They are not due then, and will be checked again. */
    setUnknown: async (kind: SubjectKind, ids: readonly string[]): Promise<void> => {
      await writeInParts(subjects[kind], ids, (_id) => ({ filter: { _id }, update: { $set: { [renewByField]: notKnown } } }));
    },
    /**
     * Takes subjects out of renewal permanently, because there is nothing to renew. If a subject got a new term or renewal after it was read, it
     * stays in renewal. Returns the number of subjects that were taken out.
     */
    lapse: (kind: SubjectKind, lapsed: readonly LapsedSubject[], at: Date): Promise<number> => {
      const update = { $set: { [renewByField]: never, 'evidence.lapsedAt': at } } as const;
      return writeInParts(subjects[kind], lapsed, ({ id, term, renewals }) => {
        const had = renewals === 0 ? { 'evidence.renewals.0': { $exists: false } } : { 'evidence.renewals': { $size: renewals } };
        return { filter: { _id: id, ...had, ...(term && { 'evidence.endsAt': term.endsAt }) }, update };
      });
    },
    /** Writes the terms of subjects. */
    setTerms: async (kind: SubjectKind, terms: ReadonlyMap<string, EvidenceTerm>): Promise<void> => {
      await writeInParts(subjects[kind], [...terms], ([_id, { endsAt, renewBy }]) => ({
        filter: { _id },
        update: { $set: { 'evidence.endsAt': endsAt, [renewByField]: renewBy }, $unset: { 'evidence.lapsedAt': '' } },
      }));
    },
    /**
     * Reads the next `limit` documents after the id `after`, and returns the ids of the subjects among them. `next`: the id of the last document that
     * was read; undefined if there are no more.
     */
    listTokens: (kind: SubjectKind, after: string, limit: number): Promise<{ ids: string[]; next: string | undefined }> =>
      inStore(async () => {
        const found = subjects[kind]
          .find({ _id: { $gt: after } }, { projection: tokenFields, maxTimeMS })
          .hint({ _id: 1 })
          .sort({ _id: 1 });
        const page = await found.limit(limit).toArray();
        const ids = page.filter((one) => isSubject(kind, one)).map(({ _id }) => _id);
        return { ids, next: page.length < limit ? undefined : page.at(-1)?._id };
      }),
    /** Reads the progress of the search for terms. */
    readWalk: lastWalk.read,
    writeWalk: lastWalk.write,
    /** Counts the evidence that is due by `until`, has lapsed or could not be judged, and records the numbers with the time of the run. */
    noteRun: async (lastRunAt: Date, until: Date): Promise<EvidenceState> => {
      const state = {
        lastRunAt,
        due: await count(renewBy(until)),
        lapsed: await count({ [renewByField]: { $gte: never, $exists: true } }),
        unknown: await count(unknown),
      };
      await lastState.write(state);
      return state;
    },
    /** Reads the state after the last run; undefined before the first run. */
    readState: lastState.read,
    /** Reads the last useless token of each kind. */
    readUseless: async (): Promise<ReadonlyMap<string, UselessToken>> => {
      const useless = await createNote<Record<string, UselessToken>>(db, uselessId, 'useless').read();
      return new Map(Object.entries(useless ?? {}));
    },
    noteUseless: (kind: string, token: UselessToken) => createNote<UselessToken>(db, uselessId, `useless.${kind}`).write(token),
  };
}
