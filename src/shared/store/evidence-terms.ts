import type { Collection, Db, Filter, UpdateFilter } from 'mongodb';
import type { EvidenceTerm, Imprint } from '../domain/stamp.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { createNote } from './notes.ts';
import { never, notKnown, renewByField, type StoredEvidence } from './stored-evidence.ts';

/** What is renewed: a stamp with a token of its own, or a batch for all its leaves. */
export const subjectKinds = ['stamp', 'batch'] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** A subject with its way to the root of a renewal: blind, then siblings. */
export interface RenewedSubject {
  readonly kind: SubjectKind;
  readonly id: string;
  /** How many renewals it had before. */
  readonly renewals: number;
  readonly path: readonly Buffer[];
  /** As of the member of a renewal. */
  readonly newImprint?: Imprint | undefined;
  readonly batchRenewals?: number | undefined;
}

export interface DueSubject {
  readonly id: string;
  readonly endsAt: Date;
}

/** A token that renewed nobody: the next one would not either, until the TSA has other certificates. */
export interface UselessToken {
  readonly issuedAt: string;
  readonly term: EvidenceTerm;
  readonly boughtAt: Date;
}

/** A subject whose evidence cannot be renewed, as it was read. */
export interface LapsedSubject {
  readonly id: string;
  /** Undefined: it could not be read. */
  readonly term: Pick<EvidenceTerm, 'endsAt'> | undefined;
  /** How many were read. */
  readonly renewals: number;
}

/** With both ends: DocumentDB takes no partial index for a range that is open (a look through 20 000 stamps: 2 s, by the index 5 ms). */
const renewBy = (until: Date) => ({ [renewByField]: { $gt: new Date(0), $lte: until } });

const unknown = { [renewByField]: { $gte: notKnown, $lt: never } };

const uselessId = 'evidence-useless';

/** What shows whether a stamp has a token of its own: of version 0.2.0, which knew no batches, that it is found by one. */
const tokenFields = { 'proofs.kind': 1, tokenDigest: 1, 'evidence.renewBy': 1 } as const;
const hasToken = ({ proofs, tokenDigest }: SubjectDocument): boolean =>
  Array.isArray(proofs) ? proofs[0]?.kind === 'token' : tokenDigest !== undefined;

/** A leaf is one once it has evidence of its own. */
const isSubject = (kind: SubjectKind, one: SubjectDocument): boolean => kind === 'batch' || hasToken(one) || one.evidence !== undefined;

interface SubjectDocument {
  readonly _id: string;
  /** Of stamps. */
  readonly proofs?: readonly { readonly kind?: unknown }[];
  readonly tokenDigest?: unknown;
  readonly evidence?: StoredEvidence;
}

export const collectionsOfSubjects = (db: Db): Readonly<Record<SubjectKind, Collection<SubjectDocument>>> => ({
  stamp: db.collection('stamps'),
  batch: db.collection('batches'),
});

/** That one bulk write changes. */
const subjectsPerWrite = 500;

/** Writes a change for each item, and answers how many of them changed something. */
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

export interface TermWalk {
  /** Of the algorithm policy by which terms are found. */
  readonly revision: string;
  /** Whether what has a term is looked at too: the policy was another one before. */
  readonly isAnew: boolean;
  /** The last id that was looked at; undefined: all were. */
  readonly after: Readonly<Partial<Record<SubjectKind, string>>>;
}

/** What is kept alive by renewals, in stamps and batches. */
export interface EvidenceState {
  readonly lastRunAt: Date;
  /** To be renewed, and no TSA could do it. */
  readonly due: number;
  /** Ended without a renewal. */
  readonly lapsed: number;
  /** Could not be judged, and so not renewed. Absent in what an earlier version noted. */
  readonly unknown?: number;
}

export type EvidenceTermStore = ReturnType<typeof createEvidenceTermStore>;

/** Until when evidence holds, and what is due to be renewed. Every write may be repeated. */
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
    /** Those that must be renewed by `until`, `limit` at most: first whose certificates end first. */
    findDue: (kind: SubjectKind, until: Date, limit: number): Promise<DueSubject[]> =>
      inStore(async () => {
        const found = await subjects[kind]
          .find(renewBy(until), { projection: { 'evidence.endsAt': 1 }, maxTimeMS })
          .sort({ 'evidence.endsAt': 1 })
          .limit(limit)
          .toArray();
        return found.map(({ _id: id, evidence }) => ({ id, endsAt: evidence?.endsAt ?? until }));
      }),
    /** Of those that could not be judged the next `limit` ids after `after`. */
    findUnknown: (kind: SubjectKind, after: string, limit: number): Promise<string[]> =>
      inStore(async () => {
        const found = await subjects[kind]
          .find({ ...unknown, _id: { $gt: after } }, ids)
          // By the other index all that is unknown would be sorted for each page.
          .hint({ _id: 1 })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray();
        return found.map(({ _id }) => _id);
      }),
    /** Notes that subjects could not be judged: they are not due, and to be looked at again. */
    setUnknown: async (kind: SubjectKind, ids: readonly string[]): Promise<void> => {
      await writeInParts(subjects[kind], ids, (_id) => ({ filter: { _id }, update: { $set: { [renewByField]: notKnown } } }));
    },
    /**
     * Takes subjects out of what is due for good: there is nothing that could be renewed. Those that got another term or renewal since they
     * were read stay. Answers how many were taken out.
     */
    lapse: (kind: SubjectKind, lapsed: readonly LapsedSubject[], at: Date): Promise<number> => {
      const update = { $set: { [renewByField]: never, 'evidence.lapsedAt': at } } as const;
      return writeInParts(subjects[kind], lapsed, ({ id, term, renewals }) => {
        const had = renewals === 0 ? { 'evidence.renewals.0': { $exists: false } } : { 'evidence.renewals': { $size: renewals } };
        return { filter: { _id: id, ...had, ...(term && { 'evidence.endsAt': term.endsAt }) }, update };
      });
    },
    /** Writes what was found out of subjects. */
    setTerms: async (kind: SubjectKind, terms: ReadonlyMap<string, EvidenceTerm>): Promise<void> => {
      await writeInParts(subjects[kind], [...terms], ([_id, { endsAt, renewBy }]) => ({
        filter: { _id },
        update: { $set: { 'evidence.endsAt': endsAt, [renewByField]: renewBy }, $unset: { 'evidence.lapsedAt': '' } },
      }));
    },
    /**
     * Of the next `limit` documents after `after` the ids of those that have a token and, unless `isAnew`, no term. `next`: the last of these
     * documents; undefined: there are no more.
     */
    listTokens: (kind: SubjectKind, after: string, limit: number, isAnew: boolean): Promise<{ ids: string[]; next: string | undefined }> =>
      inStore(async () => {
        const found = subjects[kind]
          .find({ _id: { $gt: after } }, { projection: tokenFields, maxTimeMS })
          .hint({ _id: 1 })
          .sort({ _id: 1 });
        const page = await found.limit(limit).toArray();
        const ids = page.filter((one) => isSubject(kind, one) && (isAnew || !one.evidence)).map(({ _id }) => _id);
        return { ids, next: page.length < limit ? undefined : page.at(-1)?._id };
      }),
    /** How far the walk came that gives a term to whatever has none. */
    readWalk: lastWalk.read,
    writeWalk: lastWalk.write,
    /** Counts what is due by `until` and what has ended, and notes it with the time of the run. */
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
    /** As the last run saw it; undefined before the first. */
    readState: lastState.read,
    /** The last tokens that renewed nobody, by the kind of token. */
    readUseless: async (): Promise<ReadonlyMap<string, UselessToken>> => {
      const useless = await createNote<Record<string, UselessToken>>(db, uselessId, 'useless').read();
      return new Map(Object.entries(useless ?? {}));
    },
    noteUseless: (kind: string, token: UselessToken) => createNote<UselessToken>(db, uselessId, `useless.${kind}`).write(token),
  };
}
