import { ServiceError } from '../../shared/domain/service-error.ts';

export interface Reservation {
  /** Resolves when the bytes are reserved. Rejects with ServiceError `overloaded` after too long a wait. */
  readonly granted: Promise<void>;
  /** Gives the bytes back, or stops waiting for them. May be called more than once. */
  release(): void;
}

/** Who reserves bytes. */
export interface Holder {
  readonly kind: 'product' | 'address';
  readonly name: string;
  /** Milliseconds for which it has made no use of them. */
  idleMs(): number;
  /** Ends what they are for, so that they are released soon. */
  cut(): void;
}

/** Limits the memory that large answers take together: each reserves its bytes first, and waits while too many are reserved. */
export interface ByteBudget {
  reserve(bytes: number, holder: Holder): Reservation;
  readonly freeBytes: number;
}

/** Whoever makes no use of its bytes for so long is cut off when another waits for them. */
const mostIdleMs = 1_500;
const lookEveryMs = 250;

interface Claim {
  readonly bytes: number;
  readonly holder: Holder;
  readonly admit: () => void;
  isCut: boolean;
}

/**
 * Grants at most `maxBytes` at a time, in the order of the requests: half of it to one holder, and three quarters to those without a service
 * token; who asks for more than that waits for his own, and keeps nobody else waiting. A request is refused with 503 (E10) when for `waitMs`
 * no request at all was granted its bytes; while others are, it keeps waiting, since its turn will come.
 */
export function createByteBudget({ maxBytes, waitMs = 10_000 }: { maxBytes: number; waitMs?: number }): ByteBudget {
  const queue = new Set<Claim>();
  const held = new Set<Claim>();
  let movedAt = 0;
  let looking: NodeJS.Timeout | undefined;

  const sumOf = (claims: Iterable<Claim>) => [...claims].reduce((sum, { bytes }) => sum + bytes, 0);
  const freeBytes = () => maxBytes - sumOf(held);
  /** Those who must go before it can be granted; undefined: nobody. What is larger than its share has it alone. */
  function blockersOf({
    bytes,
    holder: { kind, name },
  }: Claim): { readonly claims: readonly Claim[]; readonly of: 'name' | 'kind' | 'all' } | undefined {
    const ofKind = [...held].filter(({ holder }) => holder.kind === kind);
    const own = ofKind.filter(({ holder }) => holder.name === name);
    const isOver = (claims: readonly Claim[], share: number) => claims.length > 0 && sumOf(claims) + bytes > maxBytes * share;
    if (isOver(own, 1 / 2)) return { claims: own, of: 'name' };
    if (kind === 'address' && isOver(ofKind, 3 / 4)) return { claims: ofKind, of: 'kind' };
    return bytes > freeBytes() ? { claims: [...held], of: 'all' } : undefined;
  }

  function admitWhoFits(): void {
    const passed = new Set<Holder['kind']>();
    for (const claim of queue) {
      const { kind } = claim.holder;
      if (passed.has(kind)) continue;
      const blockers = blockersOf(claim);
      if (blockers === undefined) {
        held.add(claim);
        queue.delete(claim);
        movedAt = performance.now();
        claim.admit();
      } else if (blockers.of === 'all') {
        // Later ones must not take what it waits for.
        break;
      } else if (blockers.of === 'kind') {
        passed.add(kind);
      }
    }
    if (queue.size > 0) {
      // Never begun anew: under a steady flow of requests it would not be reached.
      looking ??= setInterval(cutTheIdle, lookEveryMs).unref();
    } else {
      clearInterval(looking);
      looking = undefined;
    }
  }

  /** One at a time: often that is enough. */
  function cutTheIdle(): void {
    for (const claim of queue) {
      const idle = (blockersOf(claim)?.claims ?? []).filter(({ holder, isCut }) => !isCut && holder.idleMs() >= mostIdleMs);
      const [longest] = idle.sort((a, b) => b.holder.idleMs() - a.holder.idleMs());
      if (!longest) continue;
      longest.isCut = true;
      longest.holder.cut();
      return;
    }
  }

  return {
    get freeBytes() {
      return freeBytes();
    },
    reserve(wanted, holder) {
      const { promise: granted, resolve, reject } = Promise.withResolvers<void>();
      const admit = () => {
        clearTimeout(timer);
        resolve();
      };
      const claim: Claim = { bytes: Math.min(wanted, maxBytes), holder, admit, isCut: false };
      const giveUp = () => {
        const stillMs = performance.now() - movedAt;
        if (stillMs < waitMs) timer = setTimeout(giveUp, waitMs - stillMs);
        else leave(new ServiceError('overloaded', 'Too many large transfers are under way; try again later.', { retryAfterSeconds: 5 }));
      };
      let timer = setTimeout(giveUp, waitMs);
      const leave = (reason: ServiceError) => {
        clearTimeout(timer);
        queue.delete(claim);
        reject(reason);
        admitWhoFits();
      };
      queue.add(claim);
      admitWhoFits();
      return {
        granted,
        release() {
          if (queue.has(claim)) leave(new ServiceError('bad_request', 'The client left before its body was read.'));
          if (held.delete(claim)) admitWhoFits();
        },
      };
    },
  };
}
