import { judgeReal, REAL_TOKENS, readReal, trustOf } from '../test/support/real-tokens.ts';
import { median } from './median.ts';

const runs = 31;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Measures the CPU time for verifying real tokens: with a new trust store, and with one that has cached their certificates. */
const rows = await Array.fromAsync(REAL_TOKENS, async (real) => {
  const bytes = readReal(real.token);
  const warm = trustOf(real);
  const costs = async (trust: () => ReturnType<typeof trustOf>) => {
    const each = await Array.fromAsync({ length: runs }, async () => {
      const given = trust();
      const start = cpuMs();
      await judgeReal(real, bytes, given);
      return cpuMs() - start;
    });
    return Number(median(each).toFixed(2));
  };
  await judgeReal(real, bytes, warm);
  return {
    token: real.token,
    bytes: bytes.length,
    'first time, ms': await costs(() => trustOf(real)),
    'again, ms': await costs(() => warm),
  };
});
rows.sort((a, b) => b['first time, ms'] - a['first time, ms']);
console.log(`median of ${runs} verifications; the slowest first`);
console.table(rows);
