import { ServiceError } from '../../../shared/domain/service-error.ts';
import { bytesOfSha256 } from '../../../shared/domain/sha256-hex.ts';
import type { KeyStore } from '../../../shared/store/keys.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore } from '../../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../../shared/store/workflows.ts';
import type { ProveSealedChain } from '../workflows/sealed-chain.ts';
import { CborMap, encodeCbor } from './cbor.ts';
import { encodeReceipt, receiptKeyOf } from './receipt.ts';

/** RFC 9921 §3.2: a token over the payload, in the protected header. */
const timestampThenCose = 269;
/** RFC 9942 §2: in the unprotected header. */
const receipts = 394;

/** A stamp for those who collect COSE messages (W23). */
export interface CoseEvidence {
  /**
   * The two headers of a COSE message over the stamped content, `[protected, unprotected]` (RFC 9052 §3): whoever signs the content puts them
   * into his own.
   *
   * @throws ServiceError `not_found` for an unknown id, and where there is nothing for either; as `ProveSealedChain`
   */
  headersOf(tokenId: string): Promise<Buffer>;
  /** PEM of the key that receipts are signed with. @throws ServiceError `store_unavailable` */
  publicKey(): Promise<string>;
}

export function createCoseEvidence(deps: {
  stamps: Pick<StampStore, 'find'>;
  outputs: Pick<OutputStore, 'findByTokens'>;
  workflows: Pick<WorkflowStore, 'find'>;
  proveSealedChain: ProveSealedChain;
  keys: Pick<KeyStore, 'secret'>;
}): CoseEvidence {
  const { stamps, outputs, workflows, proveSealedChain, keys } = deps;
  const readKey = async () => receiptKeyOf(await keys.secret('cose-receipts'));

  /** Undefined of a stamp that is no output of a completed workflow; a path without a hash is no proof to RFC 9942 §5.2. */
  async function receiptOf(tokenId: string): Promise<Buffer | undefined> {
    const [output] = await outputs.findByTokens([tokenId]);
    const workflow = output && (await workflows.find(output.workflowId));
    if (!output || workflow?.status !== 'completed') return undefined;
    const { chain } = await proveSealedChain(workflow);
    const { sequenceNumber: treeSize } = chain.end;
    if (treeSize < 2 || chain.linkAt(output.sequenceNumber)?.outputHash !== output.hash) return undefined;
    const proof = chain.tree.proveInclusion(output.sequenceNumber - 1, treeSize);
    return encodeReceipt(await readKey(), proof, bytesOfSha256(chain.rootHash));
  }

  return {
    headersOf: async (tokenId) => {
      const stamp = await stamps.find(tokenId);
      if (!stamp) throw new ServiceError('not_found', 'No stamp with this id is known.');
      const [proof] = stamp.proofs;
      // RFC 9921 has a place for a token over the content itself, and none for a record of a batch.
      const token = proof.kind === 'token' && proof.token !== '' ? Buffer.from(proof.token, 'base64') : undefined;
      const receipt = await receiptOf(tokenId);
      if (!token && !receipt)
        throw new ServiceError(
          'not_found',
          'This stamp has no time-stamp token over its content, and is no output of a completed workflow.',
        );
      const protectedHeader = encodeCbor(token ? new CborMap([timestampThenCose, token]) : new CborMap());
      return encodeCbor([protectedHeader, receipt ? new CborMap([receipts, [receipt]]) : new CborMap()]);
    },
    publicKey: async () => (await readKey()).publicPem,
  };
}
