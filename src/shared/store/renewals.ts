import { LRUCache } from 'lru-cache';
import { Binary, type Collection, type Db } from 'mongodb';
import type { EvidenceTerm, Imprint, ImprintAlgorithm } from '../domain/stamp.ts';
import { bytesOf } from './binary.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { collectionsOfSubjects, type RenewedSubject, type SubjectKind, writeInParts } from './evidence-terms.ts';
import { insertIfAbsent } from './insert.ts';
import { storedDigestOf } from './stored-evidence.ts';

/** A token over the evidence of many stamps and batches, and what is still to be written of it (RFC 4998 §5.2). */
export interface OpenRenewal {
  readonly renewalId: string;
  readonly algorithm: ImprintAlgorithm;
  readonly provider: string;
  readonly issuedAt: string;
  readonly term: EvidenceTerm;
  /** DER of TimeStampReq, TimeStampResp and the TimeStampToken in it. */
  readonly tsq: Buffer;
  readonly tsr: Buffer;
  readonly tst: Buffer;
  /** In the order of the leaves of its tree. */
  readonly members: readonly RenewalMember[];
}

/** One leaf of the tree. */
export interface RenewalMember {
  readonly kind: SubjectKind;
  /** Of the stamp, or of the batch. */
  readonly id: string;
  /** How many renewals it had: the token is over these, and is nothing to it once it has another one. */
  readonly renewals: number;
  /** The hash of what must be covered, and the blind beside it. */
  readonly group: Buffer;
  readonly blind: Buffer;
  /** The document's digest that is covered with it (S17). */
  readonly newImprint?: Imprint | undefined;
  /** Of a leaf that had no renewal of its own: how many its batch had. */
  readonly batchRenewals?: number | undefined;
  /** False: the token is of no use to it, it is a leaf of the tree only. */
  readonly isRenewed: boolean;
}

interface MemberDocument extends Omit<RenewalMember, 'group' | 'blind'> {
  readonly group: Binary;
  readonly blind: Binary;
}

interface RenewalDocument extends Omit<OpenRenewal, 'renewalId' | 'tsq' | 'tsr' | 'tst' | 'members'> {
  readonly _id: string;
  readonly tsq: Binary;
  readonly tsr: Binary;
  readonly tst: Binary;
  readonly isOpen?: true;
  readonly members?: readonly MemberDocument[];
}

/** A token never changes once it is written, and thousands of stamps share it. */
const mostRemembered = 1_000;

export type RenewalStore = ReturnType<typeof createRenewalStore>;

/** Renewals are written in steps: first the token with all its members, then the way of each member, and last that nothing is left. */
export function createRenewalStore(db: Db) {
  const renewals: Collection<RenewalDocument> = db.collection('renewals');
  const subjects = collectionsOfSubjects(db);
  const remembered = new LRUCache<string, Buffer>({ max: mostRemembered });

  return {
    /** DER tokens by the ids of renewals; absent are those that are unknown. */
    findTokens: async (renewalIds: readonly string[]): Promise<ReadonlyMap<string, Buffer>> => {
      const tokens = new Map(renewalIds.flatMap((id) => (remembered.has(id) ? [[id, remembered.get(id)!]] : [])));
      const missing = [...new Set(renewalIds)].filter((id) => !tokens.has(id));
      if (missing.length === 0) return tokens;
      const found = await inStore(() => renewals.find({ _id: { $in: missing } }, { projection: { tst: 1 }, maxTimeMS }).toArray());
      for (const { _id, tst } of found) {
        if (!(tst instanceof Binary)) continue;
        tokens.set(_id, bytesOf(tst));
        remembered.set(_id, bytesOf(tst));
      }
      return tokens;
    },
    /** Writes a renewal that nobody knows of yet. */
    begin: async ({ renewalId, tsq, tsr, tst, members, ...rest }: OpenRenewal): Promise<void> => {
      const written = members.map(({ group, blind, ...member }) => ({ ...member, group: new Binary(group), blind: new Binary(blind) }));
      const bytes = { tsq: new Binary(tsq), tsr: new Binary(tsr), tst: new Binary(tst) };
      await inStore(() => insertIfAbsent(renewals, { _id: renewalId, ...rest, ...bytes, isOpen: true, members: written }));
    },
    /** The oldest renewal that was not finished; undefined: there is none. */
    findUnfinished: async (): Promise<OpenRenewal | undefined> => {
      const found = await inStore(() => renewals.findOne({ isOpen: true }, { maxTimeMS }));
      if (!found) return undefined;
      const { _id: renewalId, algorithm, provider, issuedAt, term, tsq, tsr, tst, members = [] } = found;
      const read = members.map(({ group, blind, ...member }) => ({ ...member, group: bytesOf(group), blind: bytesOf(blind) }));
      return { renewalId, algorithm, provider, issuedAt, term, tsq: bytesOf(tsq), tsr: bytesOf(tsr), tst: bytesOf(tst), members: read };
    },
    /** Gives members their way to the root of the renewal, unless they have it, or another renewal, already; answers how many were given it. */
    give: async ({ renewalId, term }: Pick<OpenRenewal, 'renewalId' | 'term'>, members: readonly RenewedSubject[]): Promise<number> => {
      let given = 0;
      for (const [kind, ofKind] of Map.groupBy(members, (member) => member.kind)) {
        given += await writeInParts(subjects[kind], ofKind, ({ id, renewals: count, path, newImprint, batchRenewals }) => {
          const newDigest = newImprint && { newDigest: storedDigestOf(newImprint) };
          const ofLeaf = batchRenewals === undefined ? {} : { 'evidence.batchRenewals': batchRenewals };
          return {
            filter: { _id: id, 'evidence.renewals': count === 0 ? { $exists: false } : { $size: count } },
            update: {
              $push: { 'evidence.renewals': { id: renewalId, path: new Binary(Buffer.concat(path)), ...newDigest } },
              $set: { 'evidence.endsAt': term.endsAt, 'evidence.renewBy': term.renewBy, ...ofLeaf },
            },
          };
        });
      }
      return given;
    },
    /** Notes that every member has been seen to. */
    finish: (renewalId: string): Promise<void> =>
      inStore(async () => void (await renewals.updateOne({ _id: renewalId }, { $unset: { isOpen: '', members: '' } }))),
  };
}
