import { Refusal } from '../refusal/refusal.ts';
import { failureOf, type PkiFailure } from '../tsp/pki-status.ts';
import { requestOf, type TimeStampRequest } from '../tsp/request.ts';

type AcceptedRequest =
  | { readonly ok: true; readonly request: TimeStampRequest }
  | {
      readonly ok: false;
      readonly failure: PkiFailure;
      readonly detail: string;
      /** False if the bytes are not the DER of a TimeStampReq. */
      readonly isRequest: boolean;
    };

const refused = (failure: PkiFailure, detail: string, isRequest = true) => ({ ok: false, failure, detail, isRequest }) as const;

/**
 * Reads the DER of a TimeStampReq. Returns the request if a TSA with these policies can grant it, and otherwise the fault (RFC 3161 §2.4.2). Never
 * throws, whatever the bytes are.
 */
export function acceptRequest(der: Uint8Array, policies: readonly string[]): AcceptedRequest {
  try {
    const request = requestOf(der);
    if (request.version !== 1) return refused('badRequest', 'Only version 1 requests are known.');
    if (request.hasExtensions) return refused('unacceptedExtension', 'No request extension is supported.');
    if (request.policy !== undefined && !policies.includes(request.policy)) {
      return refused('unacceptedPolicy', 'The requested policy is not offered.');
    }
    return { ok: true, request };
  } catch (error) {
    if (error instanceof Refusal) return refused(failureOf(error.code), error.message, !error.code.startsWith('der_'));
    throw error;
  }
}
