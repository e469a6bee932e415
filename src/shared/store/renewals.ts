import { LRUCache } from 'lru-cache';
import { Binary, type Collection, type Db } from 'mongodb';
import type { EvidenceTerm, Imprint, ImprintAlgorithm } from '../domain/stamp.ts';
import { bytesOf, inStore, insertIfAbsent, maxTimeMS } from './connection.ts';
import { collectionsOfSubjects, type RenewedSubject, type SubjectKind, writeInParts } from './evidence-terms.ts';
import { storedDigestOf } from './stored-evidence.ts';

/** An unfinished renewal: a token over the evidence of many stamps and batches, whose paths are not all written yet (RFC 4998 §5.2). */
export interface OpenRenewal {
  readonly renewalId: string;
  readonly algorithm: ImprintAlgorithm;
  readonly provider: string;
  readonly issuedAt: string;
  readonly term: EvidenceTerm;
  /** The TimeStampReq, DER. */
  readonly tsq: Buffer;
  /** The TimeStampResp, DER. */
  readonly tsr: Buffer;
  /** The TimeStampToken in the TimeStampResp, DER. */
  readonly tst: Buffer;
  /** In the order of the leaves of the renewal's tree. */
  readonly members: readonly RenewalMember[];
}

/** One leaf of a renewal's tree: a stamp or a batch. */
export interface RenewalMember {
  readonly kind: SubjectKind;
  /** The id of the stamp or the batch. */
  readonly id: string;
  /** The number of the member's earlier renewals, which the token covers. If the member gets another renewal first, this token is useless for it. */
  readonly renewals: number;
  /** The hash that the token covers. */
  readonly group: Buffer;
  /** The random sibling of this hash in the tree. */
  readonly blind: Buffer;
  /** The document's digest in another algorithm, if the token covers it too (S17). */
  readonly newImprint?: Imprint | undefined;
  /** For a leaf without own renewals: the number of its batch's renewals. */
  readonly batchRenewals?: number | undefined;
  /** False if the token is useless for this member: then it is only a leaf of the tree. */
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

/** The number of tokens that a process caches. A stored token never changes, and thousands of stamps share it. */
const mostRemembered = 1_000;

export type RenewalStore = ReturnType<typeof createRenewalStore>;

/** Stores renewals in steps: first the token with all members, then the path of each member, and last the mark that the renewal is finished. */
export function createRenewalStore(db: Db) {
  const renewals: Collection<RenewalDocument> = db.collection('renewals');
  const subjects = collectionsOfSubjects(db);
  const remembered = new LRUCache<string, Buffer>({ max: mostRemembered });

  return {
    /** Finds the tokens (DER) of renewals by their ids. Unknown renewals are absent from the result. */
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
    /** Finds an unfinished renewal. Resolves to undefined if there is none. */
    findUnfinished: async (): Promise<OpenRenewal | undefined> => {
      const found = await inStore(() => renewals.findOne({ isOpen: true }, { maxTimeMS }));
      if (!found) return undefined;
      const { _id: renewalId, algorithm, provider, issuedAt, term, tsq, tsr, tst, members = [] } = found;
      const read = members.map(({ group, blind, ...member }) => ({ ...member, group: bytesOf(group), blind: bytesOf(blind) }));
      return { renewalId, algorithm, provider, issuedAt, term, tsq: bytesOf(tsq), tsr: bytesOf(tsr), tst: bytesOf(tst), members: read };
    },
    /** Writes the path of each member to the root of the renewal, unless the member has got another renewal. Returns the number of written paths. */
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
    /** Records that the renewal is finished. */
    finish: (renewalId: string): Promise<void> =>
      inStore(async () => void (await renewals.updateOne({ _id: renewalId }, { $unset: { isOpen: '', members: '' } }))),
  };
}
