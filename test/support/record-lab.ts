import { createHash, randomBytes } from 'node:crypto';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { encodeEvidenceRecord } from '../../src/shared/rfc3161/ers/encode.ts';
import { buildHashTree, type ReducedHashtree } from '../../src/shared/rfc3161/ers/hash-tree.ts';
import { type EvidenceRecordContext, verifyEvidenceRecord } from '../../src/shared/rfc3161/ers/verify.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import type { MessageImprint } from '../../src/shared/rfc3161/tsp/imprint.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { DIGEST_OCTETS, type DigestAlgorithm } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { createTsaLab, LAB_NOW_MS, type TsaLab } from './tsa-lab.ts';
import type { Seams } from './tsa-seams.ts';

/** A bench for evidence records: a TSA that stamps any hash at any time, and a judge that trusts it. */

export interface StampOptions {
  /** genTime, milliseconds since the epoch; default `LAB_NOW_MS`. */
  timeMs?: number;
  identity?: SigningIdentity;
  /** Number of certificates in the token, its last one repeated; default: the signer's and those of its chain. */
  certificates?: number;
}

export interface Batch {
  readonly digests: readonly Buffer[];
  readonly token: Buffer;
  readonly treeOf: (index: number) => ReducedHashtree;
  readonly recordOf: (index: number) => Buffer;
}

export const hash = (algorithm: DigestAlgorithm, ...parts: readonly Buffer[]): Buffer =>
  createHash(algorithm).update(Buffer.concat(parts)).digest();

export const imprintOf = (digest: Buffer, algorithm: DigestAlgorithm = 'sha256'): MessageImprint => ({ algorithm, digest });

export interface RecordLab {
  readonly tsa: TsaLab;
  /** DER of a TimeStampToken over a digest. */
  stamp(imprint: MessageImprint, options?: StampOptions): Buffer;
  /** One token for this many random digests. */
  batch(size: number, algorithm?: DigestAlgorithm, options?: StampOptions): Batch;
  /** Verifies at `LAB_NOW_MS` by default. */
  judge(record: Buffer, digests?: readonly MessageImprint[], context?: Partial<EvidenceRecordContext>): Promise<VerifyResult>;
}

export function createRecordLab(): RecordLab {
  const tsa = createTsaLab();
  const trust = createTrustStore({ anchors: [tsa.pki.root.certificate] });
  const stamp = ({ algorithm, digest }: MessageImprint, { timeMs = LAB_NOW_MS, identity, certificates = 0 }: StampOptions = {}) => {
    const profile = identity === undefined ? {} : { identity };
    const seams: Seams = {
      token: (parts) => {
        const missing = Math.max(0, certificates - parts.certificates.length);
        return { ...parts, certificates: [...parts.certificates, ...Array.from({ length: missing }, () => parts.certificates.at(-1)!)] };
      },
    };
    return derOf(parseDer(tsa.specimen({ ask: { hash: algorithm, digest }, timeMs, profile, seams }).answer).children[1]!);
  };
  return {
    tsa,
    stamp,
    batch: (size, algorithm = 'sha256', options = {}) => {
      const random = () => Array.from({ length: size }, () => randomBytes(DIGEST_OCTETS[algorithm]));
      const digests = random();
      const tree = buildHashTree(
        algorithm,
        digests.map((digest) => [digest]),
        random(),
      );
      const token = stamp({ algorithm, digest: tree.root }, options);
      const treeOf = (index: number) => tree.reducedHashtreeOf(index);
      return { digests, token, treeOf, recordOf: (index) => encodeEvidenceRecord(algorithm, { reducedHashtree: treeOf(index), token }) };
    },
    judge: (record, digests = [], context = {}) => verifyEvidenceRecord(record, { trust, nowMs: LAB_NOW_MS, digests, ...context }),
  };
}
