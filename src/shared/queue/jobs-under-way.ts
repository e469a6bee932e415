/** There was room at once, or once a job had ended, or there is still none. */
type Room = 'free' | 'ended' | 'late';

/**
 * Jobs of this process that are not answered yet. While there are `most` of them, requests gather for the next one (natural batching): much of
 * what a job costs is the same for one stamp and for twenty.
 */
export interface JobsUnderWay {
  /** Resolves once there is room for one more, or after `patienceMs` milliseconds: slow jobs keep nobody waiting for long. */
  room(): Promise<Room>;
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
      if (underWay < most) return 'free';
      const { promise, resolve } = Promise.withResolvers<Room>();
      const timer = setTimeout(resolve, patienceMs, 'late');
      admit = () => resolve('ended');
      const room = await promise;
      clearTimeout(timer);
      return room;
    },
    begin: (ended) => {
      underWay += 1;
      ended.then(end, end);
    },
  };
}
