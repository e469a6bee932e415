import { hash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { TokenProof } from '../domain/stamp.ts';
import { partsOfAnswer } from '../domain/token.ts';
import { bytesOf } from './binary.ts';

/**
 * The stored form of a TSA's answer. The certificates are the largest part, and the same in all answers of a TSA. So they are cut out and stored
 * once (`certificate_sets`). The token is part of the answer, so it is not stored a second time.
 */
export interface StoredAnswer {
  readonly tsq: Binary;
  /** The TimeStampResp. If `certificates` is present, its certificates are cut out. */
  readonly tsr: Binary;
  /** Where the token starts in the whole answer; it goes up to the end. Absent: the token is stored in `token`. */
  readonly tokenAt?: number;
  /** The token as base64, if it is not the end of the answer. */
  readonly token?: string;
  /** `set`: the id of the certificates that were cut out. `at`: their position in the answer. */
  readonly certificates?: { readonly set: string; readonly at: number };
}

let lastSet: { readonly der: Buffer; readonly id: string } | undefined;

/** Returns the id of a certificate set. Consecutive tokens mostly have the same set, so the last set is not hashed again. */
function setIdOf(der: Buffer): string {
  if (!lastSet?.der.equals(der)) lastSet = { der: Buffer.from(der), id: hash('sha256', der, 'hex') };
  return lastSet.id;
}

/** Makes the stored form of an answer. @param sets the certificates that are cut out are added here, by id */
export function storedAnswerOf({ token, tsq, tsr }: Pick<TokenProof, 'token' | 'tsq' | 'tsr'>, sets: Map<string, Buffer>): StoredAnswer {
  const spans = partsOfAnswer(tsr);
  const asked = { tsq: new Binary(tsq) };
  if (!spans || tsr.toString('base64', spans.token.start) !== token) return { ...asked, tsr: new Binary(tsr), token };
  const tokenAt = spans.token.start;
  if (!spans.certificates) return { ...asked, tsr: new Binary(tsr), tokenAt };
  const { start, end } = spans.certificates;
  const der = tsr.subarray(start, end);
  const set = setIdOf(der);
  sets.set(set, der);
  const rest = Buffer.concat([tsr.subarray(0, start), tsr.subarray(end)]);
  return { ...asked, tsr: new Binary(rest), tokenAt, certificates: { set, at: start } };
}

/** An object from the database whose members have not been checked yet. */
export type Found = Readonly<Record<string, unknown>>;

/** Reads which certificates were cut out of a stored answer, and where. Returns undefined if the stored data does not say it. */
const setIn = (found: Found): { set: string; at: number } | undefined => {
  const { set, at } = (found.certificates ?? {}) as Found;
  return typeof set === 'string' && typeof at === 'number' ? { set, at } : undefined;
};

/** Returns the id of the certificates that a stored proof refers to, or undefined if there are none. */
export const certificateSetIdIn = (proof: unknown): string | undefined => setIn((proof ?? {}) as Found)?.set;

/** Restores the exact octets of an answer. Returns undefined if this is not possible. */
export function answerIn(found: Found, sets: ReadonlyMap<string, Buffer>): Pick<TokenProof, 'token' | 'tsq' | 'tsr'> | undefined {
  const { tsq, tsr, tokenAt } = found;
  if (!(tsq instanceof Binary && tsr instanceof Binary)) return undefined;
  const cut = setIn(found);
  const rest = bytesOf(tsr);
  const set = cut && sets.get(cut.set);
  if (found.certificates !== undefined && !set) return undefined;
  const whole = cut && set ? Buffer.concat([rest.subarray(0, cut.at), set, rest.subarray(cut.at)]) : rest;
  const token = typeof tokenAt === 'number' ? whole.toString('base64', tokenAt) : found.token;
  return typeof token === 'string' ? { token, tsq: bytesOf(tsq), tsr: whole } : undefined;
}
