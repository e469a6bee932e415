import { createSecretKey } from 'node:crypto';
import { startMailCatcher } from '../scripts/stack/mail-catcher.ts';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { openStore } from '../src/shared/store/store.ts';
import { median } from './median.ts';
import { ours, startProcesses } from './processes.ts';
import { type Call, callsWith, type Target } from './size/calls.ts';
import { fill } from './size/fill.ts';

/**
 * The cost of each endpoint with few and with many stored stamps: two services with their own databases on the same servers are measured in turns.
 * Run: `npm run bench -- size`. Exits with 1 if an endpoint's median time with many stamps is more than 1.5 times its median with few.
 */

const wantedRatio = 1.5;
const [fewStamps = 10_000, manyStamps = 1_000_000] = (process.env.BENCH_SIZES ?? '10000,1000000').split(',').map(Number);
/** An offset near the end of the stamps of product `often` in the smaller service. */
const commonOffset = Math.floor(fewStamps * 0.4);
const usualTimes = 31;
const warmUps = 3;

interface Measured {
  readonly medianMs: number;
  readonly status: number;
}

async function ask({ ask, prepare }: Call, target: Target): Promise<{ ms: number; status: number }> {
  const asked = ask(target, (await prepare?.(target)) ?? {});
  const askedAt = performance.now();
  const answer = await fetch(asked);
  await answer.arrayBuffer();
  return { ms: performance.now() - askedAt, status: answer.status };
}

async function measure(call: Call, targets: readonly Target[]): Promise<Measured[]> {
  const times = targets.map((): number[] => []);
  const statuses = targets.map(() => 0);
  for (let round = -warmUps; round < (call.times ?? usualTimes); round += 1) {
    for (const [index, target] of targets.entries()) {
      const { ms, status } = await ask(call, target);
      if (status >= 500) console.error(`${call.name}: ${status}`);
      statuses[index] = status;
      if (round >= 0) times[index]?.push(ms);
    }
  }
  return times.map((ofTarget, index) => ({ medianMs: median(ofTarget), status: statuses[index] ?? 0 }));
}

await withStack(
  AbortSignal.timeout(30 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const masterKey = newMasterKey();
    const mail = await startMailCatcher({ onMail: () => undefined });
    const closing: (() => Promise<void>)[] = [mail.stop];
    const targets: Target[] = [];
    for (const [index, count] of [fewStamps, manyStamps].entries()) {
      const mongo = new URL(mongoUrl);
      mongo.pathname = `/bench_${count}`;
      const servers = { REDIS_URL: new URL(`/${index + 1}`, redisUrl).href, MONGODB_URL: mongo.href };
      const store = openStore(
        { MONGODB_URL: mongo.href, MASTER_KEY: createSecretKey(masterKey, 'base64') },
        createLogger({ level: 'error', process: 'bench' }),
      );
      await store.openKeys();
      await store.prepare();
      const startedAt = performance.now();
      await fill(store, count);
      console.log(`${count} stamps written in ${Math.round((performance.now() - startedAt) / 1000)} s`);
      const settings = {
        SERVICE_TOKENS: 'often:often-service-token,rare:rare-service-token',
        TRUST_PROXY: '127.0.0.1',
        RATE_AGENT_PER_MINUTE: '0',
        RATE_RECIPIENT_PER_HOUR: '0',
        RATE_RECIPIENT_PER_DAY: '0',
      };
      const limits = { SMTP_URL: mail.url, RATE_VERIFY_PER_MINUTE: '0', PORT: '0', MASTER_KEY: masterKey };
      const running = await startProcesses(ours, {
        ...process.env,
        ...settings,
        ...limits,
        ...servers,
      });
      closing.push(running.stop, store.close);
      const known = await store.stamps.listByProduct('often', { limit: 1, offset: 100 });
      const stamp = await store.stamps.find(known[0]?.tokenId ?? '');
      if (!stamp) throw new Error('nothing was written');
      targets.push({
        url: running.url,
        deepOffset: index === 0 ? commonOffset : Math.min(50_000, Math.floor(count * 0.4)),
        known: { tokenId: stamp.tokenId, token: stamp.proofs[0].token },
      });
    }
    const rows = [];
    let worst = 0;
    for (const call of callsWith(commonOffset)) {
      const [few, many] = await measure(call, targets);
      if (!few || !many) continue;
      const ratio = many.medianMs / few.medianMs;
      worst = Math.max(worst, ratio);
      rows.push({
        endpoint: call.name,
        status: many.status,
        [`p50 ms at ${fewStamps}`]: Number(few.medianMs.toFixed(2)),
        [`p50 ms at ${manyStamps}`]: Number(many.medianMs.toFixed(2)),
        ratio: ratio.toFixed(2),
      });
    }
    console.table(rows);
    console.log(`the largest ratio: ${worst.toFixed(2)}, wanted ${wantedRatio}: ${worst <= wantedRatio ? 'reached' : 'MISSED'}`);
    process.exitCode = worst <= wantedRatio ? 0 : 1;
    for (const close of closing.reverse()) await close();
  },
  { durable: true },
);
