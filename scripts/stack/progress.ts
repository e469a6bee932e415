/** A step of the set-up failed. The message names the step, the reason, and what to do about it. */
export class StepError extends Error {
  override readonly name = 'StepError';
  constructor(step: string, why: string, remedy: string, cause?: unknown) {
    super(`${step} failed\n  why:        ${why.replaceAll('\n', '\n              ')}\n  what to do: ${remedy}`, { cause });
  }
}

/** Shows slow steps to the user. A step of less than two seconds gets no line. */
export interface Progress {
  say(line: string): void;
  step<T>(title: string, run: () => Promise<T>): Promise<T>;
}

const quietMs = 2_000;

export const createProgress = (say: Progress['say'] = (line) => void process.stderr.write(`${line}\n`)): Progress => ({
  say,
  step: async (title, run) => {
    const timer = setTimeout(() => say(`  ${title} …`), quietMs);
    try {
      return await run();
    } finally {
      clearTimeout(timer);
    }
  },
});
