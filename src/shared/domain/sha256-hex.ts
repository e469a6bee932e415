/** Whether a text is a SHA-256: 64 hexadecimal characters. */
export const isSha256Hex = (text: string): boolean => /^[0-9a-fA-F]{64}$/.test(text);

/**
 * The 32 bytes of a SHA-256 written as 64 hexadecimal characters.
 *
 * @throws RangeError anything else: `Buffer.from` would shorten it in silence, and a shortened hash proves something else.
 */
export function bytesOfSha256(hex: string): Buffer {
  if (!isSha256Hex(hex)) throw new RangeError('a SHA-256 takes 64 hexadecimal characters');
  return Buffer.from(hex, 'hex');
}
