import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hash } from '../support/record-lab.ts';
import { startBouncyCastle } from './bouncy-castle.ts';
import { startDss } from './dss.ts';
import type { Jars, Meeting } from './evidence-records.ts';

/** A running service, and the trust anchor and revocation lists of its development TSA. */
export interface JudgedService {
  readonly url: string;
  readonly serviceToken: string;
  readonly rootFile: string;
  readonly crlFile: string;
  /** A run of renewals, as each day. */
  renew(): Promise<unknown>;
}

const derIn = (file: string): Buffer[] =>
  [...readFileSync(file, 'utf8').matchAll(/-----BEGIN [^-]+-----([^-]+)-----END/g)].map(([, base64 = '']) => Buffer.from(base64, 'base64'));

interface Stamped {
  readonly at: string;
  readonly record: Buffer;
  readonly isBatched: boolean;
}

const recordAt = async (at: string) => Buffer.from(await (await fetch(`${at}/evidence`)).arrayBuffer());

/** The record of a document that the service stamps, and whether it is of a batch. */
async function stamped({ url, serviceToken }: JudgedService, document: Buffer): Promise<Stamped> {
  const answer = await fetch(`${url}/api/v1/internal/v1/stamp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': serviceToken },
    body: JSON.stringify({ hash: hash('sha256', document).toString('hex') }),
  });
  const { token_id: tokenId } = (await answer.json()) as { token_id: string };
  const at = `${url}/api/v1/verify/v1/token/${tokenId}`;
  return { at, record: await recordAt(at), isBatched: (await fetch(`${at}/token`)).headers.has('qstamp-batch') };
}

/** Brings documents to the service, so that their records get a chain of SHA-512 (S17); answers the records, in their order. */
async function withNewHash(service: JudgedService, brought: readonly (readonly [Stamped, Buffer])[]): Promise<readonly Buffer[]> {
  for (const [{ at }, document] of brought) {
    await fetch(`${at}/evidence`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(document),
    });
  }
  await service.renew();
  return Promise.all(brought.map(([{ at }]) => recordAt(at)));
}

/** Records that a running service gives out are judged by Bouncy Castle and DSS: of a stamp alone, of many at once, and with a new hash. */
export async function judgeServiceRecords(java: string, jars: Jars, service: JudgedService): Promise<readonly Meeting[]> {
  const documents = Array.from({ length: 64 }, () => randomBytes(20));
  const [first, ...others] = documents as [Buffer, ...Buffer[]];
  const made = [await stamped(service, first), ...(await Promise.all(others.map((document) => stamped(service, document))))];
  const brought = [0, 20, 63].map((index) => [made[index]!, documents[index]!] as const);
  const rehashed = await withNewHash(service, brought);
  const castle = startBouncyCastle(java, jars.bouncyCastle, () => Buffer.alloc(0));
  const dss = await startDss(java, jars.dss, { anchor: derIn(service.rootFile)[0]!, crls: derIn(service.crlFile) });
  try {
    const meetings: Meeting[] = [];
    const batched = made.filter(({ isBatched }) => isBatched).length;
    meetings.push({
      what: 'the service makes batches',
      verdict: `${batched} of ${made.length}`,
      isRight: batched > 1 && batched < made.length,
    });
    for (const [name, stranger] of Object.entries({ 'Bouncy Castle': castle, DSS: dss })) {
      for (const index of [0, 1, 20, 40, 62, 63]) {
        const { record, isBatched } = made[index]!;
        const what = `the service to ${name}, ${isBatched ? 'batched' : 'direct'}`;
        const verdict = await stranger.judge(record, documents[index]!);
        meetings.push({ what, verdict, isRight: verdict === 'taken' });
      }
      for (const [i, [{ isBatched }, document]] of brought.entries()) {
        const what = `the service to ${name}, ${isBatched ? 'batched' : 'direct'}, with a chain of SHA-512`;
        const verdict = await stranger.judge(rehashed[i]!, document);
        meetings.push({ what, verdict, isRight: verdict === 'taken' && rehashed[i]!.length > brought[i]![0].record.length });
        const other = await stranger.judge(rehashed[i]!, randomBytes(20));
        meetings.push({ what: `${what}, another document`, verdict: other, isRight: other.startsWith('refused') });
      }
      const verdict = await stranger.judge(made.at(-1)!.record, first);
      meetings.push({ what: `the service to ${name}, another document`, verdict, isRight: verdict.startsWith('refused') });
    }
    return meetings;
  } finally {
    await castle.close();
    await dss.close();
  }
}
