import { LRUCache } from 'lru-cache';
import { Binary, type Collection, type Db } from 'mongodb';
import type { EvidenceTerm, Imprint, ImprintAlgorithm } from '../domain/stamp.ts';
import { bytesOf } from './binary.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { collectionsOfSubjects, type RenewedSubject, type SubjectKind, writeInParts } from './evidence-terms.ts';
import { insertIfAbsent } from './insert.ts';
import { storedDigestOf } from './stored-evidence.ts';

/** A token over the evidence of many stamps and batches, with its unwritten parts (RFC 4998 §5.2). */
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
  /** Of the stamp or the batch. */
  readonly id: string;
  /** Number of its earlier renewals, which the token covers. If it has another one meanwhile, the token is useless for it. */
  readonly renewals: number;
  /** The hash to cover, and the blind beside it. */
  readonly group: Buffer;
  readonly blind: Buffer;
  /** The document's digest in another algorithm, covered with it (S17). */
  readonly newImprint?: Imprint | undefined;
  /** For a leaf without own renewals: the number of its batch's renewals. */
  readonly batchRenewals?: number | undefined;
  /** False: the token is useless for it; it is only a leaf of the tree. */
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

/** A written token never changes, and thousands of stamps share it. */
const mostRemembered = 1_000;

export type RenewalStore = ReturnType<typeof createRenewalStore>;

/** Renewals are written in steps: first the token with all its members, then the path of each member, and last a mark that it is finished. */
export function createRenewalStore(db: Db) {
  const renewals: Collection<RenewalDocument> = db.collection('renewals');
  const subjects = collectionsOfSubjects(db);
  const remembered = new LRUCache<string, Buffer>({ max: mostRemembered });

  return {
    /** DER tokens by the ids of renewals; unknown ones are absent. */
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
    /** Writes a new renewal. */
    begin: async ({ renewalId, tsq, tsr, tst, members, ...rest }: OpenRenewal): Promise<void> => {
      const written = members.map(({ group, blind, ...member }) => ({ ...member, group: new Binary(group), blind: new Binary(blind) }));
      const bytes = { tsq: new Binary(tsq), tsr: new Binary(tsr), tst: new Binary(tst) };
      await inStore(() => insertIfAbsent(renewals, { _id: renewalId, ...rest, ...bytes, isOpen: true, members: written }));
    },
    /** The oldest unfinished renewal; undefined if there is none. */
    findUnfinished: async (): Promise<OpenRenewal | undefined> => {
      const found = await inStore(() => renewals.findOne({ isOpen: true }, { maxTimeMS }));
      if (!found) return undefined;
      const { _id: renewalId, algorithm, provider, issuedAt, term, tsq, tsr, tst, members = [] } = found;
      const read = members.map(({ group, blind, ...member }) => ({ ...member, group: bytesOf(group), blind: bytesOf(blind) }));
      return { renewalId, algorithm, provider, issuedAt, term, tsq: bytesOf(tsq), tsr: bytesOf(tsr), tst: bytesOf(tst), members: read };
    },
    /** Writes the members' paths to the root of the renewal, unless they already have it or another renewal. Returns how many were written. */
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
    /** Records that every member is done. */
    finish: (renewalId: string): Promise<void> =>
      inStore(async () => void (await renewals.updateOne({ _id: renewalId }, { $unset: { isOpen: '', members: '' } }))),
  };
}
