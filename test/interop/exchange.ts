import type { StackContext } from '../../scripts/stack/context.ts';
import { exchangeRecords, type Jars } from './evidence-records.ts';
import { ensureJava, jarsOf } from './packages.ts';
import { type JudgedService, judgeServiceRecords } from './service-records.ts';

/** Evidence records and containers that Bouncy Castle, DSS and this house make or judge: how many were judged rightly, and a line for each other. */
export async function exchangeWithStrangers(context: StackContext, service: JudgedService): Promise<{ right: number; faults: string[] }> {
  const java = await ensureJava(context);
  const jars: Jars = {
    bouncyCastle: await jarsOf(context, 'bouncy-castle'),
    dss: await jarsOf(context, 'dss'),
  };
  const meetings = [...(await exchangeRecords(java, jars)), ...(await judgeServiceRecords(java, jars, service))];
  const wrong = meetings.filter(({ isRight }) => !isRight);
  return { right: meetings.length - wrong.length, faults: wrong.map(({ what, verdict }) => `${what}: ${verdict}`) };
}
