import { exchangeRecords, type Jars } from '../../test/interop/evidence-records.ts';
import { type JudgedService, judgeServiceRecords } from '../../test/interop/service-records.ts';
import type { StackContext } from '../stack/context.ts';
import { ensureJava, jarsOf } from './java-packages.ts';

/** Evidence records that Bouncy Castle, DSS and this house make or judge; answers how many were judged rightly, and the others. */
export async function exchangeWithStrangers(context: StackContext, service: JudgedService): Promise<{ right: number; faults: string[] }> {
  const java = await ensureJava(context);
  const jars: Jars = { bouncyCastle: await jarsOf(context, 'bouncy-castle'), dss: await jarsOf(context, 'dss') };
  const meetings = [...(await exchangeRecords(java, jars)), ...(await judgeServiceRecords(java, jars, service))];
  const wrong = meetings.filter(({ isRight }) => !isRight);
  return { right: meetings.length - wrong.length, faults: wrong.map(({ what, verdict }) => `${what}: ${verdict}`) };
}
