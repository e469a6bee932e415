import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import { awaitsList, isQualified } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Proof, sha256Imprint } from '../../shared/domain/stamp.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { ProviderNotes, RequestRate } from '../../shared/redis/provider-notes.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { createMicroBatcher, type MicroBatcher } from '../../shared/runtime/micro-batcher.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import type { BatchStore } from '../../shared/store/batches.ts';
import { plantTree } from './batch-tree.ts';
import { isDoubtful, type OnCall, type ProviderCheck } from './health.ts';
import { createMember, type Member } from './member.ts';
import {
  ProviderError,
  RateReachedError,
  type StampSubject,
  TierUnavailableError,
  TimeUnavailableError,
  TsaRefusedError,
} from './provider.ts';
import type { Rfc3161Provider } from './rfc3161.ts';

/**
 * How long waiting stamps wait while another batch request is in progress, in milliseconds. Then their batch is sent in parallel, if `max_concurrent`
 * allows it.
 */
const batchPatienceMs = 250;

/** While a batch waits for the rate of a provider, it looks at least this often when the next request may go, in milliseconds. */
const longestLookMs = 500;

/** A stamp that is requested from its possible providers, one after the other. */
interface Pending {
  readonly subject: StampSubject;
  readonly serving: readonly Member[];
  /** By `performance.now()`. */
  readonly endsAt: number;
  /** Why its providers did not make it. `giveUp` makes its error from them. */
  readonly failures: unknown[];
}

type Lane = MicroBatcher<Pending, Proof>;

export type ProviderPool = ReturnType<typeof createProviderPool>;

/**
 * All configured TSAs as one provider. They are asked in order of preference. Each has its own circuit breaker and its own limit of concurrent calls.
 *
 * The way of a stamp:
 *
 * 1. `stamp` finds the providers that may make it.
 * 2. `askOne` turns to the next of them. If that one takes this stamp in batches, the stamp waits in a lane, which sends one request for all its
 *    stamps (`askTogether`). Otherwise the stamp has a request of its own (`askAlone`).
 * 3. If the provider fails, each stamp of the request keeps the failure, and the next provider is asked. The same happens to a stamp whose provider
 *    allows no request in time (`goOn`).
 * 4. If no provider or no time is left, `giveUp` throws the error that follows from all failures of the stamp.
 *
 * @param options `deadlineMs`: the time for all providers together; shorter than the time that a caller waits
 */
export function createProviderPool(options: {
  providers: readonly Rfc3161Provider[];
  deadlineMs: number;
  notes: ProviderNotes;
  clock: Clock;
  log: Logger;
  onCall?: OnCall;
  /** Stores a batch before any of its leaves is returned. @throws ServiceError `store_unavailable` */
  keepBatch: BatchStore['insertOnce'];
}) {
  const { providers, deadlineMs, notes, clock, log, onCall = () => undefined, keepBatch } = options;
  const members = providers.map((provider) => createMember(provider, { notes, clock, log, onCall }));
  const lanes = new Map<string, Lane>();
  const preferred = providers[0];
  if (!preferred) throw new RangeError('a pool needs at least one provider');

  async function stamp(subject: StampSubject): Promise<Proof> {
    return askOne({ subject, serving: servingOf(subject), endsAt: performance.now() + deadlineMs, failures: [] }, 0);
  }

  function servingOf({ requiresQualified, asked }: StampSubject): readonly Member[] {
    const fitting = requiresQualified ? members.filter(({ provider }) => provider.mayBeQualified) : members;
    if (fitting.length === 0) {
      const isPassing = members.some(({ provider }) => awaitsList(provider.qualification?.reason));
      refuse(new TierUnavailableError('a qualified stamp is required, but no provider is qualified', isPassing));
    }
    const policy = asked?.policy;
    if (policy === undefined) return fitting;
    const serving = fitting.filter(({ provider }) => provider.policyOid === policy);
    if (serving.length === 0) refuse(new TsaRefusedError('unacceptedPolicy', `no provider stamps under the policy ${policy}`));
    return serving;
  }

  function refuse(error: TierUnavailableError | TsaRefusedError): never {
    onCall({ provider: preferred!.name, outcome: 'refused', seconds: 0, stamps: 1 });
    throw error;
  }

  /**
   * Requests one stamp, starting with provider number `index`. If that provider takes this stamp in batches, it is requested together with others. If
   * it has a `rate`, the batch waits until a request may go, and takes all stamps that have come meanwhile.
   */
  function askOne(pending: Pending, index: number): Promise<Proof> {
    const member = pending.serving[index];
    const shareMs = shareMsOf(pending, index);
    if (!member || shareMs <= 0 || member.isOut() || !takesLeaf(member, pending.subject)) return askAlone(pending, index);
    const { rate } = member.provider;
    if (!rate) return laneOf(pending, index).add(pending);
    return rate.view().nextInMs < shareMs ? waitInLane(pending, index, rate, shareMs) : goOn(pending, index, rate, shareMs);
  }

  /**
   * The remaining time is divided among the providers that were not asked yet, so that a provider that does not answer leaves time for the others.
   */
  const shareMsOf = ({ endsAt, serving }: Pending, index: number): number => (endsAt - performance.now()) / (serving.length - index);

  /** Waits at most `shareMs` until a batch of a provider with a `rate` takes the stamp. */
  async function waitInLane(pending: Pending, index: number, rate: RequestRate, shareMs: number): Promise<Proof> {
    const lane = laneOf(pending, index);
    const { promise: hasLeft, resolve: leave } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => lane.remove(pending) && leave(undefined), shareMs);
    const proof = await Promise.race([lane.add(pending), hasLeft]).finally(() => clearTimeout(timer));
    return proof ?? goOn(pending, index, rate, shareMs);
  }

  /**
   * Asks the next provider, because this one allows no request in time. If there is none, the stamp is tried again some time before a request may go,
   * so that it waits with others and shares the request.
   */
  async function goOn(pending: Pending, index: number, rate: RequestRate, shareMs: number): Promise<Proof> {
    pending.failures.push(new RateReachedError(rate.view().nextInMs, rate.longestMs + shareMs / 2));
    return askOne(pending, index + 1);
  }

  /**
   * The batcher for stamps that have the same possible providers, the same algorithm and the same next provider. Stamps for which nobody waits have
   * their own batches, because they may use only some places of the provider. If its requests are counted, they share a batch, and go last.
   */
  function laneOf({ subject: { imprint, requiresQualified, isPromised = false }, serving }: Pending, index: number): Lane {
    const { provider, promisedPlaces } = serving[index]!;
    const { aggregate, maxConcurrent, rate } = provider;
    const isApart = isPromised && !rate;
    const names = serving.map(({ provider }) => provider.name);
    const key = JSON.stringify([imprint.algorithm, requiresQualified === true, isApart, index, names]);
    let lane = lanes.get(key);
    if (!lane) {
      const { maxLeaves = 1, windowMs = 0 } = aggregate ?? {};
      const send = ([first, ...others]: readonly Pending[]) => askTogether([first!, ...others], index);
      lane = createMicroBatcher({
        maxItems: maxLeaves,
        maxUnderWay: isApart ? promisedPlaces : maxConcurrent,
        windowMs,
        patienceMs: batchPatienceMs,
        gather: rate ? () => untilAllowed(rate) : restOfTurn,
        goesLast: ({ subject }) => subject.isPromised === true,
        send,
      });
      lanes.set(key, lane);
    }
    return lane;
  }

  async function askAlone(pending: Pending, index: number): Promise<Proof> {
    const { subject, serving } = pending;
    const member = serving[index];
    const shareMs = shareMsOf(pending, index);
    if (!member || shareMs <= 0) giveUp(pending);
    try {
      return await member.ask(subject, shareMs, 1);
    } catch (error) {
      if (error instanceof RateReachedError && takesLeaf(member, subject)) return askOne(pending, index);
      recordOrThrow(error, member, { tokenId: subject.tokenId }, [pending]);
    }
    return askOne(pending, index + 1);
  }

  /**
   * Sends one request for all, starting with provider number `start`. If a provider fails, the next provider is asked for the same root, so that no
   * imprint is in two trees. If the next provider cannot take the whole group as one batch, each stamp continues alone.
   */
  async function askTogether(group: readonly [Pending, ...Pending[]], start: number): Promise<readonly (Proof | Promise<Proof>)[]> {
    const [oldest] = group;
    if (group.length === 1) return [askAlone(oldest, start)];
    const [first, ...others] = group.map(({ subject }) => subject.imprint);
    const tree = plantTree([first!, ...others]);
    for (const [index, member] of oldest.serving.entries()) {
      if (index < start) continue;
      if (!takesGroup(member, group)) return group.map((pending) => askOne(pending, index));
      const shareMs = shareMsOf(oldest, index);
      if (shareMs <= 0) break;
      try {
        const isPromised = group.every(({ subject }) => subject.isPromised);
        const { requiresQualified = false } = oldest.subject;
        const root = { tokenId: tree.batchId, imprint: tree.root, tier: 'basic', requiresQualified, isPromised } as const;
        const answer = await member.ask(root, shareMs, group.length);
        const batch = tree.batchOf(answer);
        const proofs = tree.proofsOf(batch);
        const leaves = group.map(({ subject: { tokenId } }, i) => ({ tokenId, blind: proofs[i]!.path[0]! }));
        await keepBatch(batch, leaves);
        return proofs;
      } catch (error) {
        if (error instanceof RateReachedError) return group.map((pending) => askOne(pending, index));
        recordOrThrow(error, member, { batchId: tree.batchId, stamps: group.length }, group);
      }
    }
    return group.map(async (pending) => giveUp(pending));
  }

  /**
   * Logs a failure, and adds it to each stamp of the request.
   *
   * @param ids of the failed stamp or batch
   * @throws ServiceError if `error` is one: the fault is ours, so another provider would not help
   */
  function recordOrThrow(error: unknown, { provider: { name } }: Member, ids: object, group: readonly Pending[]): void {
    if (error instanceof ServiceError) throw error;
    for (const { failures } of group) failures.push(error);
    if (error instanceof RateReachedError) return;
    if (error instanceof TierUnavailableError) {
      log.warn({ outcome: 'failed', reason: error.message, provider: name, ...ids }, 'a stamp that must be qualified is not');
    } else if (error instanceof TsaRefusedError) {
      log.info({ outcome: 'refused', code: error.fault, reason: error.message, provider: name, ...ids }, 'the TSA refused the request');
    } else log.warn({ err: error, provider: name, ...ids }, `provider ${name} failed`);
  }

  function giveUp({ failures, serving }: Pending): never {
    const refusals = failures.filter((error) => error instanceof TsaRefusedError);
    const refusal = refusals.find(({ fault }) => fault !== undefined) ?? refusals[0];
    if (refusal && refusals.length === serving.length) throw refusal;
    const unqualified = failures.filter((error) => error instanceof TierUnavailableError);
    const [refused = unqualified[0]] = unqualified.filter(({ isPassing }) => isPassing);
    if (refused && unqualified.length === failures.length) refuse(refused);
    const timeless = failures.find((error) => error instanceof TimeUnavailableError);
    if (timeless && failures.every((error) => error instanceof TimeUnavailableError || error instanceof TsaRefusedError)) throw timeless;
    const isRate = (error: unknown) => error instanceof RateReachedError;
    const [soonest] = failures.filter(isRate).sort((a, b) => a.retryInMs - b.retryInMs);
    // If another provider failed, it may be there again soon.
    if (soonest) throw failures.length === serving.length && failures.every(isRate) ? soonest : new RateReachedError(0);
    throw new ProviderError('every provider failed', { cause: new AggregateError(failures) });
  }

  return {
    name: preferred.name,
    get isQualified(): boolean {
      return preferred.isQualified;
    },
    stamp,
    checkQualified: async (): Promise<void> => {
      if (members.some(({ provider: { qualification } }) => qualification && isQualified(qualification))) return;
      await stamp({
        tokenId: randomUUIDv7(),
        imprint: sha256Imprint(randomBytes(32).toString('hex')),
        tier: 'basic',
        requiresQualified: true,
      });
    },
    health: (): ProviderHealth[] => members.map((member) => member.health()),
    /**
     * Sends a test request to each provider that has not answered yet or whose last call failed. Without this, a provider after a working one in the
     * order would never be asked. It costs one stamp for each provider at start and one at each recovery. These stamps belong to no caller and are not
     * counted. A provider with a `rate` is not asked if another worker has asked it lately.
     */
    check: async (): Promise<ProviderCheck[]> => {
      await Promise.all(members.map((member) => member.refresh()));
      const doubtful = members.filter((member) => isDoubtful(member.health()) && !member.isInUse());
      return Promise.all(doubtful.map((member) => member.check(deadlineMs)));
    },
    close: (): void => {
      for (const member of members) member.close();
    },
  };
}

/** Resolves when the provider allows a request. Another worker may take it first. */
async function untilAllowed(rate: RequestRate): Promise<void> {
  await restOfTurn();
  for (;;) {
    const { nextInMs } = rate.view();
    if (nextInMs === 0) return;
    await delay(Math.min(nextInMs, longestLookMs), undefined, { ref: false });
  }
}

function takesLeaf({ provider: { aggregate } }: Member, { callerKind, asked }: StampSubject): boolean {
  return aggregate !== undefined && callerKind !== undefined && asked === undefined && aggregate.callers.includes(callerKind);
}

const takesGroup = (member: Member, group: readonly Pending[]): boolean =>
  group.length <= (member.provider.aggregate?.maxLeaves ?? 0) && group.every(({ subject }) => takesLeaf(member, subject));
