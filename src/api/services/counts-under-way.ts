import { answerWithin } from '../../shared/runtime/answer-within.ts';

/** A worker counts what it has answered within a tenth of a second. The jobs of one that was killed are done again after seven seconds at most. */
const longestMs = 8_000;

/**
 * Jobs that this process has heard the stamps of, and that are not counted yet. Who was told of a stamp, and asks how many there are, is to
 * find it counted.
 */
export interface CountsUnderWay {
  begin(jobId: string): void;
  end(jobId: string): void;
  /** Resolves once what has begun before is counted; eight seconds after it began at most. */
  settled(): Promise<void>;
}

interface UnderWay {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly since: number;
}

export function createCountsUnderWay(): CountsUnderWay {
  const underWay = new Map<string, UnderWay>();

  function forgetLost(): void {
    for (const [jobId, { since }] of underWay) {
      if (performance.now() - since < longestMs) return;
      underWay.delete(jobId);
    }
  }

  return {
    begin: (jobId) => {
      forgetLost();
      if (!underWay.has(jobId)) underWay.set(jobId, { ...Promise.withResolvers<void>(), since: performance.now() });
    },
    end: (jobId) => {
      underWay.get(jobId)?.resolve();
      underWay.delete(jobId);
    },
    settled: async () => {
      forgetLost();
      const last = [...underWay.values()].at(-1);
      if (!last) return;
      const leftMs = longestMs - (performance.now() - last.since);
      await answerWithin(leftMs, () => Promise.all([...underWay.values()].map(({ promise }) => promise)));
    },
  };
}
