import { readFileSync } from 'node:fs';
import type { MessageImprint } from '../../src/shared/rfc3161/tsp/imprint.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore, type TrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { LAB_NOW_MS } from './tsa-lab.ts';

/** Tokens of real TSAs, each with its trust anchor: test/fixtures/real-tokens. */
export interface RealToken {
  readonly finding: string;
  /** A file in the folder. */
  readonly token: string;
  /** The subject of the signer. */
  readonly tsa: string;
  readonly anchors: readonly string[];
  readonly intermediates: readonly string[];
  readonly imprintAlg: MessageImprint['algorithm'];
  /** Hex. */
  readonly imprint: string;
  readonly genTime: string;
  readonly want: 'accept' | 'refuse';
}

const folder = new URL('../fixtures/real-tokens/', import.meta.url);

export const readReal = (name: string): Buffer => readFileSync(new URL(name, folder));

export const REAL_TOKENS: readonly RealToken[] = JSON.parse(readReal('cases.json').toString('utf8'));

export const trustOf = ({ anchors, intermediates }: RealToken, areCaPurposesIgnored = false): TrustStore =>
  createTrustStore({ anchors: anchors.map(readReal), intermediates: intermediates.map(readReal), areCaPurposesIgnored });

/** Verifies the bytes with the settings for this token. */
export function judgeReal({ imprintAlg, imprint }: RealToken, bytes: Uint8Array, trust: TrustStore): Promise<VerifyResult> {
  return verifyToken(bytes, { trust, nowMs: LAB_NOW_MS, expected: { algorithm: imprintAlg, digest: Buffer.from(imprint, 'hex') } });
}
