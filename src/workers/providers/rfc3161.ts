import { setTimeout as delay } from 'node:timers/promises';
import { awaitsList, isQualified, type Qualification } from '../../shared/domain/qualification.ts';
import type { ReasonCode } from '../../shared/domain/reasons.ts';
import type { TokenProof } from '../../shared/domain/stamp.ts';
import { rfc3339Of } from '../../shared/domain/token.ts';
import type { RequestRate, TakenRequest } from '../../shared/redis/provider-notes.ts';
import {
  encodeRequest,
  type RequestFault,
  requestFaultOf,
  type TrustStore,
  type Verified,
  type VerifyResult,
  verifyResponse,
  verifyToken,
} from '../../shared/rfc3161/index.ts';
import { randomOctets } from '../../shared/runtime/random-octets.ts';
import { answerWithin, type Clock } from '../../shared/runtime/timers.ts';
import type { ListIndex } from '../../shared/trust/lists/index.ts';
import type { ProviderSettings } from '../../shared/trust/providers-file.ts';
import { qualificationOfToken } from '../../shared/trust/qualification.ts';
import type { ClockWatch, TsaTime } from './key/clock-watch.ts';
import { evidenceTermOf, RateReachedError, type StampSubject, TierUnavailableError, TsaRefusedError } from './provider.ts';
import { TransportError, type TsaClient } from './tsa-client.ts';

/** The trusted lists that decide whether a token is qualified. */
export interface Listings {
  current(): ListIndex;
  /** Keeps on which list a qualified token rests, once for many stamps. @throws ServiceError `store_unavailable` */
  keep(token: Verified, qualification: Qualification): Promise<void>;
}

const nonceBytes = 16;

/** The maximum pause before the one retry. The pause is random, so that calls that failed together do not come back together. */
const longestRetryDelayMs = 250;
/** How long Redis may take to count a request. Then the TSA receives no request later than it is counted. */
const longestTakeMs = 1_000;
/** A provider that is not qualified by its last token is asked for a stamp that must be qualified if that token is older than this. */
const doubtAfterMs = 300_000;
/** If a TSA asks for a longer pause than this (`Retry-After`), the next TSA is asked instead. */
const longestRetryAfterMs = 1_000;

/** A TSA's answer does not prove the requested stamp. The same TSA is not asked again (docs/reference/refusals.md "How a TSA is asked"). */
export class InvalidAnswerError extends Error {
  override readonly name = 'InvalidAnswerError';
  readonly code: ReasonCode;
  /** The TSA's reason, if it rejects a request. */
  readonly fault: RequestFault | undefined;

  constructor(code: ReasonCode, detail: string, fault?: RequestFault) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.fault = fault;
  }
}

/** Whether every TSA accepts a nonce of this size: at most 128 bits, like ours. */
const isUsualNonce = (nonce: bigint | undefined): boolean => nonce !== undefined && nonce >= 0n && nonce >> BigInt(nonceBytes * 8) === 0n;

/**
 * Whether a request has the form of our own requests. Only then a refusal counts as a failure of the TSA: clients choose their requests, and must not
 * be able to make a working TSA look broken.
 */
const isOfOurForm = ({ imprint, asked }: StampSubject): boolean =>
  asked === undefined || (imprint.algorithm === 'sha256' && !asked.hasNullParameters && isUsualNonce(asked.nonce));

/** Whether the error means that the TSA answered, with a refusal or an invalid answer, and that a retry would not help. */
const isAnswer = (error: unknown): boolean =>
  error instanceof InvalidAnswerError || (error instanceof TransportError && error.fault === 'http_status' && !error.isRetryable);

/** Whether an answer was refused because of its time: then our clock may be wrong. */
export const isTimeFault = (code: ReasonCode): boolean => /^gen_time_(future|outside_window)$/.test(code);

/** Whether an answer was refused because of its time. The time is checked before the signature, so the signature was not verified. */
const isFarOff = (result: VerifyResult): boolean => !result.ok && isTimeFault(result.code);

/** The time that a token states, and its uncertainty. A genTime in whole seconds can mean any time in that second. */
function meantTimeOf({ genTime, genTimeText, accuracyMicroseconds = 0n }: Verified): { genTimeMs: number; uncertaintyMs: number } {
  const halfMs = genTimeText.includes('.') ? 0 : 500;
  return { genTimeMs: genTime.getTime() + halfMs, uncertaintyMs: halfMs + Number(accuracyMicroseconds) / 1_000 };
}

function retryDelayMsOf(error: unknown): number | undefined {
  if (!(error instanceof TransportError) || !error.isRetryable) return undefined;
  if (error.retryAfterMs !== undefined) return error.retryAfterMs <= longestRetryAfterMs ? error.retryAfterMs : undefined;
  return Math.random() * longestRetryDelayMs;
}

export type Rfc3161Provider = ReturnType<typeof createRfc3161Provider> & {
  /** The state of our clock; only if the provider uses it. */
  readClock?(): ReturnType<ClockWatch['read']>;
};

/** Opens one TSA. Every answer is fully verified before it is returned. */
export function createRfc3161Provider(options: {
  settings: ProviderSettings;
  trust: TrustStore;
  client: TsaClient;
  listings: Listings;
  clock: Clock;
  /** Called with the time in each verified answer, even if the answer is refused because this time is far from ours. */
  onTime?: (answer: TsaTime) => void;
  /** Counts the requests, if the provider allows only so many in a period. */
  rate?: RequestRate | undefined;
}) {
  const { settings, trust, client, listings, clock, onTime, rate } = options;
  const { name, policyOid, timeoutMs, acceptGrantedWithMods = false, maxAccuracySeconds, policyAccuracySeconds } = settings;

  let last: Verified | undefined;

  const qualificationAt = (token: Verified): Qualification =>
    qualificationOfToken(token, [settings.qualified], listings.current(), new Date(clock()));
  /** That of a token like the last one, made now. */
  const readQualification = () => last && qualificationAt({ ...last, genTime: new Date(clock()) });

  /**
   * Takes a request of the provider's rate. If Redis answers late or not at all, nothing is sent.
   *
   * @throws RateReachedError
   */
  async function takeRequest(rate: RequestRate, signal: AbortSignal): Promise<TakenRequest> {
    const taking = rate.take();
    const aborted = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => aborted.resolve(undefined), { once: true });
    const taken = signal.aborted ? undefined : await answerWithin(longestTakeMs, () => Promise.race([taking, aborted.promise]));
    if (taken) return taken;
    void taking.then((unused) => unused?.giveBack());
    throw new RateReachedError(rate.view().nextInMs, rate.longestMs);
  }

  async function exchange(tsq: Buffer, signal: AbortSignal): Promise<{ tsr: Buffer; verified: Verified }> {
    const taken = rate && (await takeRequest(rate, signal));
    const sentAtMs = clock();
    const tsr = await client.ask(tsq, signal);
    const receivedAtMs = clock();
    taken?.answered();
    const result = await verifyResponse(tsr, {
      request: tsq,
      trust,
      sentAtMs,
      receivedAtMs,
      nowMs: receivedAtMs,
      acceptGrantedWithMods,
      ...(maxAccuracySeconds !== undefined && { maxAccuracySeconds }),
      ...(policyAccuracySeconds !== undefined && { policyAccuracySeconds }),
    });
    const timed = onTime && isFarOff(result) ? await verifyToken(tsr, { trust, nowMs: Number.MAX_SAFE_INTEGER }) : result;
    if (timed.ok) onTime?.({ name, sentAtMs, receivedAtMs, ...meantTimeOf(timed) });
    if (!result.ok) throw new InvalidAnswerError(result.code, result.detail, requestFaultOf(tsr));
    last = result;
    return { tsr, verified: result };
  }

  async function exchangeTwiceAtMost(tsq: Buffer, signal: AbortSignal) {
    try {
      return await exchange(tsq, signal);
    } catch (error) {
      const waitMs = retryDelayMsOf(error);
      if (waitMs === undefined || signal.aborted) throw error;
      await delay(waitMs, undefined, { signal });
      return await exchange(tsq, signal).catch((again: unknown) => {
        throw again instanceof RateReachedError ? error : again;
      });
    }
  }

  function isQualifiedNow(): boolean {
    const known = readQualification();
    return known ? isQualified(known) : settings.qualified !== false;
  }

  return {
    name,
    /** Whether its next stamp will be qualified, as far as is known: by its last token and the present lists, and before the first token as configured. */
    get isQualified(): boolean {
      return isQualifiedNow();
    },
    /**
     * Whether a stamp that must be qualified is requested from it: if it is qualified, or if its last token is old, because another signer may make the
     * next one.
     */
    get mayBeQualified(): boolean {
      const isOld = last !== undefined && clock() - last.genTime.getTime() > doubtAfterMs;
      const mayHaveNewSigner = isOld && settings.qualified !== false && readQualification()?.reason !== 'list_expired';
      return isQualifiedNow() || mayHaveNewSigner;
    },
    /** Undefined before the first token. */
    get qualification(): Qualification | undefined {
      return readQualification();
    },
    policyOid,
    maxConcurrent: settings.maxConcurrent,
    aggregate: settings.aggregate,
    rate,
    timeoutMs,
    /**
     * Requests a time-stamp. After a transport fault, 429 or 5xx it asks once more.
     *
     * @throws TransportError, InvalidAnswerError; RateReachedError, and then nothing was sent; TsaRefusedError for a client's request that differs from
     * our own; TierUnavailableError if the stamp must be qualified and is not
     */
    stamp: async (subject: StampSubject, signal: AbortSignal): Promise<TokenProof> => {
      const { imprint, asked } = subject;
      const tsq = encodeRequest({
        imprint: { algorithm: imprint.algorithm, digest: Buffer.from(imprint.digest, 'hex') },
        hasNullParameters: asked?.hasNullParameters ?? false,
        policy: asked?.policy ?? policyOid,
        nonce: asked ? asked.nonce : randomOctets(nonceBytes),
      });
      const { tsr, verified } = await exchangeTwiceAtMost(tsq, signal).catch((error: unknown) => {
        if (isOfOurForm(subject) || !isAnswer(error)) throw error;
        const fault = error instanceof InvalidAnswerError ? error.fault : undefined;
        throw new TsaRefusedError(fault, 'the request was refused', { cause: error });
      });
      const qualification = qualificationAt(verified);
      if (subject.requiresQualified && !isQualified(qualification)) {
        throw new TierUnavailableError(`the token of ${name} is not qualified: ${qualification.reason}`, awaitsList(qualification.reason));
      }
      await listings.keep(verified, qualification);
      return {
        kind: 'token',
        provider: name,
        isQualified: isQualified(qualification),
        qualification,
        issuedAt: rfc3339Of(verified.genTimeText),
        token: verified.token.toString('base64'),
        tsq,
        tsr,
        term: evidenceTermOf(verified),
      };
    },
    /** Reads a token of this TSA. @throws InvalidAnswerError */
    readToken: async ({ token }: TokenProof): Promise<Verified> => {
      const result = await verifyToken(Buffer.from(token, 'base64'), { trust, nowMs: clock(), acceptGrantedWithMods });
      if (!result.ok) throw new InvalidAnswerError(result.code, result.detail);
      return result;
    },
    /** The certificates of the last good answer, from the signer to the trust anchor; undefined before the first one. */
    chain: (): Verified['chain'] | undefined => last?.chain,
    close: (): void => client.close(),
  };
}
