import { base64, startJava } from './line-program.ts';

/** digidoc4j (digidoc4j.java); `taken`, or why not. */
export interface Digidoc4j {
  /** An ASiC-S container with the file inside. */
  judgeContainer(container: Buffer): Promise<string>;
  close(): Promise<void>;
}

/** @param certificate DER, of the TSA that is trusted */
export async function startDigidoc4j(java: string, jars: string, certificate: Buffer): Promise<Digidoc4j> {
  const { command, close } = startJava(java, jars, 'digidoc4j.java');
  const faults = await command('trust', base64(certificate));
  if (faults.length > 0) throw new Error(faults.join('; '));
  return { judgeContainer: async (container) => (await command('container', base64(container))).join('; '), close };
}
