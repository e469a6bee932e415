import { verifyPath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { TimeStampReqFields } from '../../shared/queue/jobs.ts';
import {
  acceptRequest,
  encodeResponse,
  PKI_STATUS,
  type PkiFailure,
  rejectionOf,
  type TimeStampRequest,
  withoutCertificates,
} from '../../shared/rfc3161/index.ts';
import { ProviderRefusalError, type StampTools, stampOne } from '../stamps/index.ts';
import type { ApiTools } from '../tools.ts';

/** A request from a time-stamp client, with its sender. */
interface DoorQuery {
  /** DER of a TimeStampReq. */
  readonly der: Buffer;
  readonly product: string | undefined;
  /** The owner of a share of the queue: the product, or an address. */
  readonly callerId: string;
  readonly requestId: string;
}

/** A TimeStampResp (RFC 3161 §2.4.2). */
interface DoorAnswer {
  readonly der: Buffer;
  readonly isGranted: boolean;
  readonly failure?: PkiFailure;
  /** The id of the stamp that was made or will be made. */
  readonly tokenId?: string;
  readonly retryAfterSeconds?: number;
}

/**
 * Answers an RFC 3161 client: a granted time-stamp exactly as requested; a rejection with its PKIFailureInfo; or `waiting` if the stamp was accepted,
 * or perhaps was, and is not finished in time (T2).
 *
 * @throws ServiceError `bad_request` if the query is not a TimeStampReq, `tsa_unavailable` with the mock provider; `rate_limited`, `overloaded`,
 *   `queue_unavailable`, `store_unavailable`
 */
export async function answerQuery(tools: StampTools, { der, product, callerId, requestId }: DoorQuery): Promise<DoorAnswer> {
  checkProvider(tools);
  const policies = tools.trust.providers.flatMap(({ settings }) => settings.policyOid ?? []);
  const accepted = acceptRequest(der, policies);
  if (!accepted.ok && !accepted.isRequest)
    throw new ServiceError('bad_request', 'The body is not the DER of a TimeStampReq (RFC 3161 §2.4.1).');
  if (!accepted.ok) return rejected(accepted.failure, accepted.detail);
  const { request } = accepted;
  const { algorithm, digest } = request.imprint;
  try {
    const { stamp } = await stampOne(tools, {
      order: { imprint: { algorithm, digest: digest.toString('hex') }, content: undefined, tier: 'basic', metadata: undefined },
      caller: { kind: 'tsa', product },
      callerId,
      requestId,
      idempotencyKey: undefined,
      asked: fieldsOf(request),
    });
    const token = Buffer.from(stamp.token, 'base64');
    const sent = request.certReq ? token : withoutCertificates(token);
    return { der: encodeResponse({ status: PKI_STATUS.granted, token: sent }), isGranted: true, tokenId: stamp.token_id };
  } catch (error) {
    return refusalOf(error);
  }
}

/**
 * The certificates of the most preferred provider that has answered, in PEM, from the signer to the trust anchor.
 *
 * @throws ServiceError `tsa_unavailable` while no provider has answered, and with the mock provider
 */
export async function readCertificateChain(tools: ApiTools): Promise<string> {
  checkProvider(tools);
  const healths = (await tools.readHeartbeats(tools.clock())).flatMap(({ providers }) => providers);
  for (const { settings } of tools.trust.providers) {
    const chain = healths.find(({ name, certificateChain }) => name === settings.name && certificateChain !== undefined)?.certificateChain;
    if (chain !== undefined) return chain;
  }
  throw new ServiceError('tsa_unavailable', 'No provider has answered yet, so its certificates are not known.');
}

function checkProvider({ trust }: ApiTools): void {
  if (trust.providers.length > 0) return;
  throw new ServiceError(
    'tsa_unavailable',
    'The mock provider makes no RFC 3161 time-stamps: start the service with TSP=local or TSP=file.',
  );
}

const fieldsOf = ({ nonce, policy, hasNullParameters, certReq }: TimeStampRequest): TimeStampReqFields => ({
  ...(nonce !== undefined && { nonce: String(nonce) }),
  ...(policy !== undefined && { policy }),
  ...(hasNullParameters && { hasNullParameters }),
  ...(!certReq && { omitsCertificates: true }),
});

const rejected = (failure: PkiFailure, detail: string): DoorAnswer => ({
  der: encodeResponse(rejectionOf(failure, detail)),
  isGranted: false,
  failure,
});

/** The answer to a request that got no token. @throws the error if no TimeStampResp can express it, for example `overloaded` */
function refusalOf(error: unknown): DoorAnswer {
  if (error instanceof ProviderRefusalError) return rejected(error.fault, error.message);
  if (!(error instanceof ServiceError)) throw error;
  if (error.code === 'provider_failed' || error.code === 'internal_error') return rejected('systemFailure', error.message);
  const tokenId = error.members.token_id;
  if (error.code !== 'stamp_pending' || typeof tokenId !== 'string') throw error;
  const statusText = `Accepted and not finished yet; look at ${verifyPath(tokenId)} later.`;
  const der = encodeResponse({ status: PKI_STATUS.waiting, statusText });
  return { der, isGranted: false, tokenId, retryAfterSeconds: error.retryAfterSeconds ?? 5 };
}
