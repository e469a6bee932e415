/** A worker counts what it has answered within a tenth of a second. The jobs of one that was killed are done again after seven seconds at most. */
const longestMs = 8_000;

/**
 * Jobs that this process has heard the stamps of, and that are not counted yet. Who was told of a stamp, and asks how many there are, is to
 * find it counted.
 */
export interface CountsUnderWay {
  begin(jobId: string): void;
  end(jobId: string): void;
  /** Resolves once what has begun before is counted; of each job, eight seconds after it began at most. */
  settled(): Promise<void>;
}

export function createCountsUnderWay(): CountsUnderWay {
  const underWay = new Map<string, { readonly promise: Promise<void>; readonly end: () => void }>();

  function begin(jobId: string): void {
    if (underWay.has(jobId)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      clearTimeout(timer);
      underWay.delete(jobId);
      resolve();
    };
    const timer = setTimeout(end, longestMs).unref();
    underWay.set(jobId, { promise, end });
  }

  return {
    begin,
    end: (jobId) => underWay.get(jobId)?.end(),
    settled: async () => {
      await Promise.all([...underWay.values()].map(({ promise }) => promise));
    },
  };
}
