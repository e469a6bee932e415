import { base64, startJava } from './line-program.ts';

/** DSS of the European Commission (dss.java); `taken`, or why not. */
export interface Dss {
  judge(record: Buffer, document: Buffer): Promise<string>;
  /** An ASiC container with the file inside. */
  judgeContainer(container: Buffer): Promise<string>;
  close(): Promise<void>;
}

/** @param trust DER of the trust anchor, and of revocation lists below it: with the anchor alone DSS does not know whether a certificate was revoked */
export async function startDss(
  java: string,
  jars: string,
  trust: { readonly anchor: Buffer; readonly crls: readonly Buffer[] },
): Promise<Dss> {
  const { command, close } = startJava(java, jars, 'dss.java');
  const faults = await command('trust', base64(trust.anchor), ...trust.crls.map(base64));
  if (faults.length > 0) throw new Error(faults.join('; '));
  return {
    judge: async (record, document) => (await command('judge', base64(record), base64(document))).join('; '),
    judgeContainer: async (container) => (await command('container', base64(container))).join('; '),
    close,
  };
}
