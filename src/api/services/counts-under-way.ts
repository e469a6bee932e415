import { answerWithin } from '../../shared/runtime/answer-within.ts';

/** A worker counts what it has answered within a tenth of a second. One that was lost is not waited for: its jobs are counted seconds later. */
const longestMs = 1_000;

/**
 * Jobs that this process has heard the stamps of, and that are not counted yet. Who was told of a stamp, and asks how many there are, is to
 * find it counted.
 */
export interface CountsUnderWay {
  begin(jobId: string): void;
  end(jobId: string): void;
  /** Resolves once what has begun before is counted; after a second at most. */
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
      if (underWay.size > 0) await answerWithin(longestMs, () => Promise.all([...underWay.values()].map(({ promise }) => promise)));
    },
  };
}
