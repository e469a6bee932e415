import type { Reporter } from 'vitest/node';

/** Prints the ten test files that took the most CPU time. A server that several files share counts for the file before its end. */
export const dearestFiles: Reporter = {
  onTestRunEnd(modules) {
    const files = modules.map((module) => ({ name: module.relativeModuleId, seconds: module.meta().cpuSeconds ?? 0 }));
    const dearest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, Number(process.env.TEST_SHOW_FILES ?? 10));
    const lines = dearest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)}  ${name}`);
    process.stdout.write(`\nCPU seconds of the dearest files:\n${lines.join('\n')}\n`);
  },
};
