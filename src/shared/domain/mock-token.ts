import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type StampTier, stampTiers } from './stamp.ts';

/**
 * The mock provider's token states the same as an RFC 3161 token: this hash existed at this time. Only a secret key of the service authenticates
 * it, so it proves nothing to third parties. Version 1 has a fixed layout of 93 bytes:
 *
 *     magic "QSM" · version 1 · token id 16 · SHA-256 32 · time 8 (ms, big-endian) · tier 1 · HMAC-SHA-256 32
 *
 * 93 bytes are 124 base64 characters without padding or spare bits, so every changed bit changes a byte that is checked.
 */

export const mockProviderName = 'mock';

const magic = Buffer.from('QSM\x01', 'latin1');
const bodyBytes = 61;
const tokenBytes = 93;

interface MockClaims {
  readonly tokenId: string;
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly tier: StampTier;
}

const macOf = (key: KeyObject, body: Buffer): Buffer => createHmac('sha256', key).update(body).digest();

/** Makes a token, as canonical base64. */
export function issueMockToken(key: KeyObject, { tokenId, hash, timeMs, tier }: MockClaims): string {
  const token = Buffer.alloc(tokenBytes);
  magic.copy(token, 0);
  token.write(tokenId.replaceAll('-', ''), 4, 'hex');
  token.write(hash, 20, 'hex');
  token.writeBigUInt64BE(BigInt(timeMs), 52);
  token.writeUInt8(stampTiers.indexOf(tier), 60);
  macOf(key, token.subarray(0, bodyBytes)).copy(token, bodyBytes);
  return token.toString('base64');
}

/** Returns true if a decoded token claims to come from the mock provider, in any version. */
export const looksLikeMockToken = (token: Buffer): boolean => token.subarray(0, 3).equals(magic.subarray(0, 3));

/** Reads the contents of a decoded token; undefined if the key did not make it, which is checked in constant time. */
export function readMockToken(key: KeyObject, token: Buffer): MockClaims | undefined {
  if (token.length !== tokenBytes || !token.subarray(0, 4).equals(magic)) return undefined;
  if (!timingSafeEqual(macOf(key, token.subarray(0, bodyBytes)), token.subarray(bodyBytes))) return undefined;
  const tier = stampTiers[token.readUInt8(60)];
  const tokenId = token.toString('hex', 4, 20).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return tier && { tokenId, hash: token.toString('hex', 20, 52), timeMs: Number(token.readBigUInt64BE(52)), tier };
}
