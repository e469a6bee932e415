import { isQualified, type Qualification } from '../../../shared/domain/qualification.ts';
import { listFile } from '../../../shared/proof/bundle-files.js';
import type { StoredStamp } from '../../../shared/store/stamps.ts';
import type { Store } from '../../../shared/store/store.ts';
import type { WorkflowTools } from '../../workflows/index.ts';

/** A trusted list in a bundle, as it was signed. */
export interface BundledList {
  readonly name: string;
  readonly territory: string;
  readonly number: number;
  readonly sha256: string;
  readonly xml: Buffer;
}

/** Whether a seal is qualified, and the lists that say so. */
export interface SealQualification {
  readonly qualification: Qualification;
  /** The list under which it was made, and the list of lists that led to it. Empty if no list says that the seal is qualified. */
  readonly lists: readonly BundledList[];
}

/**
 * Finds out whether a seal is qualified. Its lists are those under which it was made, if the service has kept this: they stay the same when newer lists
 * come into force, and so do the bytes of the bundle.
 */
export async function qualifySeal(
  { store, stampJudge }: WorkflowTools,
  stamp: StoredStamp,
  withLists: boolean,
): Promise<SealQualification | undefined> {
  const judgement = await stampJudge.judgeStamp(stamp);
  if (!judgement.ok) return undefined;
  const { qualification, verified } = judgement;
  if (!withLists || !verified || !qualification.listed || !isQualified(qualification)) return { qualification, lists: [] };
  const kept = await store.listings.findAt(verified.signer.fingerprint, verified.genTime);
  const ofThen = kept && (await readList(store, kept.listed.listSha256));
  if (!ofThen) {
    const now = await readList(store, qualification.listed.listSha256);
    return { qualification, lists: now ? [now] : [] };
  }
  const listOfLists = kept.listOfLists && (await readList(store, kept.listOfLists.sha256));
  return {
    qualification: { ...qualification, listed: { ...kept.listed, atProofOfExistence: null } },
    lists: listOfLists ? [ofThen, listOfLists] : [ofThen],
  };
}

async function readList({ trustedLists }: Store, sha256: string): Promise<BundledList | undefined> {
  const found = await trustedLists.findXml(sha256);
  if (!found) return undefined;
  const { territory, sequenceNumber: number } = found.said;
  return { name: listFile(found.said), territory, number, sha256, xml: found.xml };
}
