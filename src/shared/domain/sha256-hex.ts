/**
 * The 32 bytes of a SHA-256 written as 64 hexadecimal characters.
 *
 * @throws RangeError anything else: `Buffer.from` would shorten it in silence, and a shortened hash proves something else.
 */
export function bytesOfSha256(hex: string): Buffer {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new RangeError('a SHA-256 takes 64 hexadecimal characters');
  return Buffer.from(hex, 'hex');
}
