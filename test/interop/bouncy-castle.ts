import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { DigestAlgorithm } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { base64, startJava } from './line-program.ts';

/** Bouncy Castle (evidence-records.java). */
export interface BouncyCastle {
  /** `taken`, or why not. */
  judge(record: Buffer, document: Buffer): Promise<string>;
  /** A record for each group of documents, in the order of their hashes. */
  batch(algorithm: DigestAlgorithm, groups: readonly (readonly Buffer[])[]): Promise<readonly Buffer[]>;
  renew(record: Buffer): Promise<Buffer>;
  rehash(record: Buffer, algorithm: DigestAlgorithm, document: Buffer): Promise<Buffer>;
  close(): Promise<void>;
}

/** @param answer the TSA: DER of a TimeStampResp for that of a TimeStampReq */
export function startBouncyCastle(java: string, jars: string, answer: (request: Buffer) => Buffer): BouncyCastle {
  const { command, close } = startJava(java, jars, 'evidence-records.java', (request) => base64(answer(Buffer.from(request, 'base64'))));

  async function records(...words: readonly string[]): Promise<readonly Buffer[]> {
    return (await command(...words)).map((line) => {
      if (!line.startsWith('record ')) throw new Error(line);
      return Buffer.from(line.slice(7), 'base64');
    });
  }

  return {
    judge: async (record, document) => (await command('judge', base64(record), base64(document))).join('; '),
    batch: (algorithm, groups) => records('batch', OID[algorithm], ...groups.map((group) => group.map(base64).join(','))),
    renew: async (record) => (await records('renew', base64(record)))[0]!,
    rehash: async (record, algorithm, document) => (await records('rehash', OID[algorithm], base64(record), base64(document)))[0]!,
    close,
  };
}
