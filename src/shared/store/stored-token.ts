import { hash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { TokenProof } from '../domain/stamp.ts';
import { partsOfAnswer } from '../domain/tsa-answer.ts';
import { bytesOf } from './binary.ts';

/**
 * The stored form of a TSA's answer. Its certificates are most of it and the same in all answers of a TSA, so they are cut out and stored once
 * (`certificate_sets`). The token is not stored twice.
 */
export interface StoredAnswer {
  readonly tsq: Binary;
  /** Without the certificates, if `certificates` says which and where. */
  readonly tsr: Binary;
  /** Where the token starts in the answer; it goes up to the end. Absent: the token is stored beside it, as base64. */
  readonly tokenAt?: number;
  readonly token?: string;
  readonly certificates?: { readonly set: string; readonly at: number };
}

let lastSet: { readonly der: Buffer; readonly id: string } | undefined;

/** Consecutive tokens mostly have the same certificates, so these are not hashed again. */
function setIdOf(der: Buffer): string {
  if (!lastSet?.der.equals(der)) lastSet = { der: Buffer.from(der), id: hash('sha256', der, 'hex') };
  return lastSet.id;
}

/** @param sets receives the certificates that were cut out, by id */
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

type Found = Readonly<Record<string, unknown>>;

/** Reads any stored data as an answer. */
const setIn = (found: Found): { set: string; at: number } | undefined => {
  const { set, at } = (found.certificates ?? {}) as Found;
  return typeof set === 'string' && typeof at === 'number' ? { set, at } : undefined;
};

/** The id of the certificates in stored data. */
export const certificateSetIdIn = (proof: unknown): string | undefined => setIn((proof ?? {}) as Found)?.set;

/** The exact octets of the answer; undefined if they cannot be read. */
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
