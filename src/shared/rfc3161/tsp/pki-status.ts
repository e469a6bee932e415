import type { RefusalCode } from '../refusal/codes.ts';

/** This module has the numbers in a TSA's answer and their names (RFC 3161 §2.4.2). */

/** The values of PKIStatus. */
export const PKI_STATUS = {
  granted: 0,
  grantedWithMods: 1,
  rejection: 2,
  waiting: 3,
  revocationWarning: 4,
  revocationNotification: 5,
} as const;

/** The numbers of the bits in PKIFailureInfo. */
export const PKI_FAILURE = {
  badAlg: 0,
  badRequest: 2,
  badDataFormat: 5,
  timeNotAvailable: 14,
  unacceptedPolicy: 15,
  unacceptedExtension: 16,
  addInfoNotAvailable: 17,
  systemFailure: 25,
} as const;

export type PkiFailure = keyof typeof PKI_FAILURE;

/** The failures that are a fault of the request, not of the TSA. */
export const REQUEST_FAULTS = ['badAlg', 'badRequest', 'badDataFormat', 'unacceptedPolicy', 'unacceptedExtension'] as const;
export type RequestFault = (typeof REQUEST_FAULTS)[number];

const nameIn = (table: Readonly<Record<string, number>>, number: number): string | undefined =>
  Object.keys(table).find((name) => table[name] === number);

export const statusName = (status: number): string => nameIn(PKI_STATUS, status) ?? 'unknown';

export const failureName = (bit: number): string => nameIn(PKI_FAILURE, bit) ?? `bit ${bit}`;

/** Returns the PKIFailureInfo for a request that cannot be read. `code`: why it was refused. */
export function failureOf(code: RefusalCode): PkiFailure {
  return code.startsWith('imprint_algorithm_') ? 'badAlg' : 'badDataFormat';
}
