/**
 * Jobs of this process that are not answered yet. While there are `most` of them, requests gather for the next one (natural batching): much of
 * what a job costs is the same for one stamp and for twenty.
 */
export interface JobsUnderWay {
  /** Resolves once there is room for one more, or after `patienceMs` milliseconds: slow jobs keep nobody waiting for long. */
  room(): Promise<void>;
  /** One more, until it has `ended`. */
  begin(ended: Promise<unknown>): void;
}

export function createJobsUnderWay({ most, patienceMs }: { most: number; patienceMs: number }): JobsUnderWay {
  let underWay = 0;
  let admit = () => {};

  const end = () => {
    underWay -= 1;
    if (underWay < most) admit();
  };
  return {
    room: async () => {
      if (underWay < most) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, patienceMs);
      admit = resolve;
      await promise;
      clearTimeout(timer);
    },
    begin: (ended) => {
      underWay += 1;
      ended.then(end, end);
    },
  };
}
