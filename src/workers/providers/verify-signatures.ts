import { parentPort } from 'node:worker_threads';
import { type SignatureSubject, verifyHere } from '../../shared/rfc3161/index.ts';

/** The thread of `createSignatureThread`: answers each batch with a verdict on each of its signatures. */

export interface SignatureBatch {
  readonly keys: readonly SignatureSubject['key'][];
  readonly subjects: readonly {
    readonly digest: SignatureSubject['digest'];
    /** Which of `keys`. */
    readonly key: number;
    readonly dataLength: number;
    readonly signatureLength: number;
  }[];
  /** Data and signature of each, one after the other. */
  readonly octets: Uint8Array<ArrayBuffer>;
}

function verdictsOn({ keys, subjects, octets }: SignatureBatch): boolean[] {
  let offset = 0;
  const take = (length: number): Uint8Array => {
    offset += length;
    return octets.subarray(offset - length, offset);
  };
  return subjects.map(({ digest, key, dataLength, signatureLength }) =>
    verifyHere({ digest, key: keys[key]!, data: take(dataLength), signature: take(signatureLength) }),
  );
}

parentPort?.on('message', (batch: SignatureBatch) => parentPort?.postMessage(verdictsOn(batch)));
