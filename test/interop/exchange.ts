import type { StackContext } from '../../scripts/stack/context.ts';
import { exchangeRecords, type Jars, type Meeting } from './evidence-records.ts';
import { ensureJava, jarsOf } from './java-packages.ts';
import { type JudgedService, judgeServiceRecords } from './service-records.ts';

/** Evidence records and containers that Bouncy Castle, DSS, digidoc4j and this house make or judge: how many were judged rightly, the others, and what is worth telling. */
export async function exchangeWithStrangers(
  context: StackContext,
  service: JudgedService,
): Promise<{ right: number; faults: string[]; notes: string[] }> {
  const java = await ensureJava(context);
  const jars: Jars = {
    bouncyCastle: await jarsOf(context, 'bouncy-castle'),
    dss: await jarsOf(context, 'dss'),
    digidoc4j: await jarsOf(context, 'digidoc4j'),
  };
  const meetings = [...(await exchangeRecords(java, jars)), ...(await judgeServiceRecords(java, jars, service))];
  const wrong = meetings.filter(({ isRight }) => !isRight);
  const told = (some: readonly Meeting[]) => some.map(({ what, verdict }) => `${what}: ${verdict}`);
  return { right: meetings.length - wrong.length, faults: told(wrong), notes: told(meetings.filter(({ isTold }) => isTold)) };
}
