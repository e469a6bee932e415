import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import type { DigestAlgorithm } from '../../src/shared/rfc3161/x509/algorithms.ts';

/** Bouncy Castle in a process of its own (evidence-records.java), one command at a time. */
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
  const program = join(import.meta.dirname, 'evidence-records.java');
  const child: ChildProcessWithoutNullStreams = spawn(java, ['-cp', join(jars, '*'), program]);
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => void said.push(text));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();

  async function command(...words: readonly string[]): Promise<readonly string[]> {
    child.stdin.write(`${words.join(' ')}\n`);
    const answers: string[] = [];
    for (;;) {
      const { value: line, done } = await lines.next();
      if (done) throw new Error(`Bouncy Castle ended: ${said.join('')}`);
      if (line === 'done') return answers;
      if (line.startsWith('ask ')) child.stdin.write(`${base64(answer(Buffer.from(line.slice(4), 'base64')))}\n`);
      else answers.push(line);
    }
  }

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
    close: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

const base64 = (bytes: Buffer): string => bytes.toString('base64');
