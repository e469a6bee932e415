import { createHash, createHmac, randomBytes, randomUUIDv7 } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type StampedReply, stampedReplyOf } from '../../shared/queue/jobs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';
import type { ApiTools } from '../tools.ts';

/** A request that makes something, and the key of its caller. */
interface IdentifiedRequest {
  /** The owner of the key. The same key from another caller is a different key. */
  readonly caller: string;
  readonly key: string | undefined;
  readonly operation: string;
  /** Everything that must be equal in a repeated request: its body, or the parsed order. The order of members does not matter. */
  readonly content: unknown;
  /** Counts the request for its rate limit. It is not called for a repetition, which makes nothing new. @throws ServiceError `rate_limited` */
  readonly passLimit?: PassLimit | undefined;
}

export type PassLimit = () => Promise<void>;

export interface Identity {
  /** The id of the resource that the request makes: a UUID version 7. It is the same for every repetition. A bulk request derives its ids from it. */
  readonly resourceId: string;
  /** Whether an earlier request had the same key. */
  readonly isRepeated: boolean;
  /** Makes 32 bytes in base64url, which are not stored. A repeated request gets the same secret, and so the same answer. */
  secret(): string;
}

/**
 * Gives a request its id and finds the earlier request with the same key, so that a repetition makes nothing new (S9). The answer to a repetition is
 * built from the data stored under its `resourceId`.
 *
 * @throws ServiceError `idempotency_key_reused` if the key was used for a different request; `store_unavailable`; `rate_limited`
 */
export async function identify(tools: ApiTools, request: IdentifiedRequest): Promise<Identity> {
  const { key, passLimit } = request;
  if (key !== undefined) return bind(tools, { ...request, key });
  await passLimit?.();
  let made: string | undefined;
  const secret = () => {
    made ??= randomBytes(secretBytes).toString('base64url');
    return made;
  };
  return { resourceId: randomUUIDv7(), isRepeated: false, secret };
}

const secretBytes = 32;

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

/** JSON with sorted members, so that their order does not matter. */
const canonical = (content: unknown): string =>
  JSON.stringify(content, (_name, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value,
  );

const digestOf = (parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

const hourMs = 3_600_000;

async function bind(
  { config, store, clock }: ApiTools,
  { caller, key, operation, content, passLimit }: IdentifiedRequest & { readonly key: string },
): Promise<Identity> {
  const keyDigest = digestOf([caller, operation, key]);
  const freshId = randomUUIDv7();
  if (passLimit && !(await store.idempotency.isBound(keyDigest, new Date(clock())))) await passLimit();
  const authenticator = await store.keys.secret('idempotency');
  // The digest needs a secret key: a body may contain an e-mail address, and after redaction nobody must be able to find it by hashing guesses.
  const macOf = (...parts: string[]) => createHmac('sha256', authenticator).update(JSON.stringify(parts));
  const requestDigest = macOf('request', canonical(content)).digest('hex');
  const now = clock();
  const bound = await store.idempotency.bind({
    key: keyDigest,
    requestDigest,
    resourceId: freshId,
    now: new Date(now),
    expiresAt: new Date(now + config.IDEMPOTENCY_TTL_HOURS * hourMs),
  });
  if (bound.requestDigest !== requestDigest) {
    throw new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for a different request.');
  }
  const { resourceId, isFirst } = bound;
  const secret = () => macOf('secret', caller, key, requestDigest, resourceId).digest('base64url');
  return { resourceId, isRepeated: !isFirst, secret };
}

/** Verifies a stored stamp before it becomes an answer. Returns undefined if it does not verify. */
export interface StoredStampJudge {
  storedReplyOf(stamp: StoredStamp): Promise<StampedReply | undefined>;
}

/**
 * Looks for stamps in the store and verifies them (V9). Returns their replies by id. A stamp that does not verify counts as missing; its `verify_url`
 * shows the reason. The stamp of an output counts as found only when the output has its number. It is not verified, because the answer contains only
 * the output's ids, number and link, and the recorded time.
 */
export async function findReplies(
  { stamps, outputs }: Store,
  stampJudge: StoredStampJudge,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, StampedReply>> {
  const stored = await stamps.findMany(tokenIds);
  const ofWorkflows = new Map(stored.filter(({ caller }) => caller.kind === 'workflow').map((stamp) => [stamp.tokenId, stamp]));
  const numbered = ofWorkflows.size > 0 ? await outputs.findByTokens([...ofWorkflows.keys()]) : [];
  const replies = numbered.map(({ tokenId, outputId, sequenceNumber, chainHash }) => ({
    ...stampedReplyOf(ofWorkflows.get(tokenId)!),
    output: { outputId, sequenceNumber, chainHash },
  }));
  const judged = judgeAll(
    stampJudge,
    stored.filter(({ tokenId }) => !ofWorkflows.has(tokenId)),
  );
  return new Map([...replies, ...(await Promise.all(judged))].flatMap((reply) => (reply ? [[reply.tokenId, reply]] : [])));
}

/**
 * The replies for stamps that an earlier request made, in their order. They are verified again (V9).
 *
 * @throws ServiceError `internal_error` for a stamp that does not verify, as the rejection of its promise
 */
export const repliesOfStored = (stampJudge: StoredStampJudge, stored: readonly StoredStamp[]): Promise<StampedReply>[] =>
  judgeAll(stampJudge, stored).map(async (judged, place) => {
    const reply = await judged;
    if (reply) return reply;
    const { tokenId } = stored[place]!;
    throw new ServiceError('internal_error', 'The stored stamp does not verify. See verify_url for the reason.', {
      members: { token_id: tokenId, verify_url: verifyPath(tokenId) },
    });
  });

/** Judges stamps one after the other, because each takes time. Other work gets a turn before each. */
function judgeAll(stampJudge: StoredStampJudge, stored: readonly StoredStamp[]): Promise<StampedReply | undefined>[] {
  let before: Promise<unknown> = Promise.resolve();
  return stored.map((stamp) => {
    const reply = before.then(turn).then(() => stampJudge.storedReplyOf(stamp));
    before = reply.catch(() => undefined);
    return reply;
  });
}
