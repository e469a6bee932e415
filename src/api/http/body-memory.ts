import { ServiceError } from '../../shared/domain/service-error.ts';

/** Who sends a body: a product with its service token, or an address without one. */
export interface Sender {
  readonly kind: 'product' | 'address';
  readonly name: string;
}

/** The memory of one body. */
export interface BodyLease {
  /** Takes so many bytes more, if there is room for them now. */
  take(bytes: number): boolean;
  /**
   * Takes them once there is room.
   *
   * @throws ServiceError `overloaded` when that takes too long, or when too many wait already.
   */
  takeLater(bytes: number): Promise<void>;
  /** The body has arrived; its bytes stay taken. */
  complete(): void;
  /** Gives all its bytes back, or stops waiting. May be called more than once. */
  release(): void;
}

/** The memory of one process for bodies that it receives. */
export interface BodyMemory {
  /** `mostBytes`: the most bytes that the body can have, if that is known; a small one has room of its own. */
  open(sender: Sender, mostBytes?: number): BodyLease;
  readonly usedBytes: number;
}

export interface BodyMemoryOptions {
  /** The largest body that any route takes. */
  readonly largestBytes: number;
  /** What the bodies of one kind of sender may take beside the largest. */
  readonly spareBytes?: number;
  /** The same for one sender: less, so that there is room for others of its kind. */
  readonly ownSpareBytes?: number;
  readonly waitMs?: number;
}

interface Body {
  heldBytes: number;
}

interface Share {
  readonly spareBytes: number;
  readonly mostWaiting: number;
  usedBytes: number;
  waiting: number;
  /** Bodies that are not complete, the eldest first. */
  readonly arriving: Set<Body>;
}

const mebibyte = 1024 * 1024;
/** Room that only bodies of at most `largestBytes` may take. */
const reserve = { largestBytes: 64 * 1024, spareBytes: 4 * mebibyte, ownSpareBytes: 256 * 1024 };
const mostWaiting = { ofAKind: 64, ofOneSender: 32 };

const createShare = (spareBytes: number, mostWaiting: number): Share => ({
  spareBytes,
  mostWaiting,
  usedBytes: 0,
  waiting: 0,
  arriving: new Set(),
});

/**
 * Bodies take their memory as they arrive. Those with a service token and those without have a share each, and in it each sender a
 * smaller one, which keeps one sender, but not several, from taking all of it; who holds a workflow token is an address like any other.
 * Small bodies have a reserve beside, in shares of the same kinds, so that nobody shuts them out with large ones. In every share the
 * eldest body has room for the largest body kept free beside what the others may take, so one can always be finished, and the others
 * follow. A body that finds no room waits.
 */
export function createBodyMemory({
  spareBytes = 32 * mebibyte,
  ownSpareBytes = 16 * mebibyte,
  waitMs = 15_000,
  ...options
}: BodyMemoryOptions): BodyMemory {
  const ofAnySize = createPool({ ...options, spareBytes, ownSpareBytes, waitMs });
  const ofSmall = createPool({ ...reserve, waitMs });
  return {
    get usedBytes() {
      return ofAnySize.usedBytes + ofSmall.usedBytes;
    },
    open(sender, mostBytes = Number.POSITIVE_INFINITY) {
      const lease = ofAnySize.open(sender);
      return mostBytes > reserve.largestBytes ? lease : withReserve(lease, ofSmall.open(sender));
    },
  };
}

const withReserve = (lease: BodyLease, reserved: BodyLease): BodyLease => ({
  take: (bytes) => lease.take(bytes) || reserved.take(bytes),
  takeLater: reserved.takeLater,
  complete() {
    lease.complete();
    reserved.complete();
  },
  release() {
    lease.release();
    reserved.release();
  },
});

function createPool({ largestBytes, spareBytes, ownSpareBytes, waitMs }: Required<BodyMemoryOptions>): BodyMemory {
  const kinds = { product: createShare(spareBytes, mostWaiting.ofAKind), address: createShare(spareBytes, mostWaiting.ofAKind) };
  const own = new Map<string, { share: Share; bodies: number }>();
  const waiting = new Set<() => void>();

  const hasRoom = (share: Share, body: Body, bytes: number): boolean => {
    const [eldest] = share.arriving;
    if (eldest === body) return share.usedBytes + bytes <= share.spareBytes + largestBytes;
    return share.usedBytes - (eldest?.heldBytes ?? 0) + bytes <= share.spareBytes;
  };
  const admitWhoFits = () => {
    for (const tryAgain of waiting) tryAgain();
  };

  function ownShareOf({ kind, name }: Sender) {
    const key = `${kind} ${name}`;
    const known = own.get(key) ?? { share: createShare(ownSpareBytes, mostWaiting.ofOneSender), bodies: 0 };
    own.set(key, known);
    known.bodies += 1;
    const leave = () => {
      known.bodies -= 1;
      if (known.bodies === 0) own.delete(key);
    };
    return { share: known.share, leave };
  }

  return {
    get usedBytes() {
      return kinds.product.usedBytes + kinds.address.usedBytes;
    },
    open(sender) {
      const { share: ownShare, leave } = ownShareOf(sender);
      const shares = [kinds[sender.kind], ownShare];
      const body: Body = { heldBytes: 0 };
      let isReleased = false;
      let stopWaiting = () => {};
      let leaveQueue = () => {};
      for (const share of shares) share.arriving.add(body);

      const hold = (bytes: number) => {
        body.heldBytes += bytes;
        for (const share of shares) share.usedBytes += bytes;
      };
      const take = (bytes: number): boolean => {
        if (isReleased || !shares.every((share) => hasRoom(share, body, bytes))) return false;
        hold(bytes);
        return true;
      };
      const arrive = () => {
        for (const share of shares) share.arriving.delete(body);
      };
      return {
        take,
        takeLater(bytes) {
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          const refuse = () => {
            stopWaiting();
            reject(new ServiceError('overloaded', 'Too many uploads are under way; try again later.', { retryAfterSeconds: 5 }));
          };
          const tryAgain = () => {
            if (!take(bytes)) return;
            stopWaiting();
            resolve();
          };
          leaveQueue = () => {
            stopWaiting();
            reject(new ServiceError('bad_request', 'The client left before its body was read.'));
          };
          const timer = setTimeout(refuse, waitMs);
          const isFull = isReleased || shares.some((share) => share.waiting >= share.mostWaiting);
          for (const share of shares) share.waiting += 1;
          waiting.add(tryAgain);
          stopWaiting = () => {
            stopWaiting = () => {};
            leaveQueue = stopWaiting;
            clearTimeout(timer);
            waiting.delete(tryAgain);
            for (const share of shares) share.waiting -= 1;
          };
          if (isFull) refuse();
          else tryAgain();
          return promise;
        },
        complete() {
          arrive();
          admitWhoFits();
        },
        release() {
          if (isReleased) return;
          isReleased = true;
          leaveQueue();
          arrive();
          hold(-body.heldBytes);
          leave();
          admitWhoFits();
        },
      };
    },
  };
}
