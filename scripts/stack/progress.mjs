/** A step of the set-up that failed: which one, why, and what to do about it. */
export class StepError extends Error {
  /**
   * @param {string} step
   * @param {string} why
   * @param {string} remedy
   * @param {unknown} [cause]
   */
  constructor(step, why, remedy, cause) {
    super(`${step} failed\n  why:        ${why.replaceAll('\n', '\n              ')}\n  what to do: ${remedy}`, { cause });
    this.name = 'StepError';
  }
}

const quietMs = 2_000;
const againMs = 5_000;

/**
 * Tells a person what takes time. A step that is over within two seconds is not worth a line.
 * @typedef {{ update(status: string): void }} Step
 * @typedef {{ say(line: string): void, step<T>(title: string, run: (step: Step) => Promise<T>): Promise<T> }} Progress
 */

/**
 * @param {(line: string) => void} [write]
 * @returns {Progress}
 */
export function createProgress(write = (line) => void process.stderr.write(`${line}\n`)) {
  return {
    say: write,
    async step(title, run) {
      const began = Date.now();
      const seconds = () => Math.round((Date.now() - began) / 1000);
      let status = '';
      let shown = false;
      const show = () => {
        shown = true;
        write(`  ${title} … ${seconds()} s${status && `, ${status}`}`);
        timer = setTimeout(show, againMs);
      };
      let timer = setTimeout(show, quietMs);
      try {
        const result = await run({
          update: (text) => {
            status = text;
          },
        });
        if (shown) write(`  ${title}: done in ${seconds()} s`);
        return result;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
