import { X509Certificate } from 'node:crypto';

/**
 * Reads the certificates of a file, PEM with any number of blocks or one in DER. The verifier of tokens is too strict for some signers of lists, so
 * Node.js reads them.
 *
 * @returns DER @throws Error with one sentence
 */
export function readSignersFile(file: Uint8Array): Uint8Array[] {
  if (file[0] === 0x30) return [certificateOf(file)];
  const blocks = Buffer.from(file)
    .toString('latin1')
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) throw new Error('It has no certificate.');
  return blocks.map(certificateOf);
}

function certificateOf(material: string | Uint8Array): Uint8Array {
  try {
    return new X509Certificate(material).raw;
  } catch {
    throw new Error('A certificate in it cannot be read.');
  }
}
