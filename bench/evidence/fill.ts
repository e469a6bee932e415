import { hash, randomBytes, randomUUIDv7 } from 'node:crypto';
import { encodeRequest, issueResponse, type TsaProfile, tokenIn } from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import type { Store } from '../../src/shared/store/store.ts';
import type { Pki } from '../../src/tsa/pki.ts';
import { DEVELOPMENT_POLICY } from '../../src/tsa/server.ts';

const pageSize = 1_000;

/** The hash of an output, by its number. */
export const hashOf = (number: number): string => hash('sha256', `output ${number}`, 'hex');

function makeStamp(profile: TsaProfile, number: number) {
  const digest = hashOf(number);
  const timeMs = Math.floor(Date.now() / 1000) * 1000;
  const tsq = encodeRequest({ imprint: { algorithm: 'sha256', digest: Buffer.from(digest, 'hex') }, nonce: randomBytes(16) });
  const tsr = issueResponse(profile, tsq, { timeMs, serial: randomSerial() });
  const issuedAt = `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
  const token = tokenIn(tsr)!.toString('base64');
  const proof = { kind: 'token', provider: 'bench', isQualified: false, issuedAt, token, tsq, tsr } as const;
  return { tokenId: randomUUIDv7(), digest, issuedAt, proof };
}

/** Outputs and their stamps as workers would have written them; each has a token of its own. */
export async function fill(store: Store, chain: { workflowId: string; briefingHash: string }, pki: Pki, outputs: number): Promise<void> {
  const profile: TsaProfile = { identity: pki.signer, policies: [DEVELOPMENT_POLICY], accuracy: { seconds: 1 } };
  for (let first = 1; first <= outputs; first += pageSize) {
    const made = Array.from({ length: Math.min(pageSize, outputs - first + 1) }, (_, index) => makeStamp(profile, first + index));
    await store.stamps.insertOnce(
      made.map(({ tokenId, digest, issuedAt, proof }) => ({
        tokenId,
        imprint: { algorithm: 'sha256', digest },
        proofs: [proof],
        tier: 'basic',
        caller: { kind: 'workflow' },
        acceptedAt: new Date(issuedAt),
        requestId: tokenId,
      })),
    );
    const listed = made.map(({ tokenId, digest, issuedAt }) => ({
      outputId: tokenId,
      tokenId,
      hash: digest,
      type: 'image',
      metadata: undefined,
      stampedAt: issuedAt,
      provider: 'bench',
      isQualified: false,
    }));
    await store.outputs.append(chain, listed);
  }
}
