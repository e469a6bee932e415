import { join } from 'node:path';
import { checkoutDir, type StackContext } from '../../../scripts/stack/context.ts';
import { pythonPlace } from '../packages.ts';
import type { Meeting, TimeStampClient } from './client.ts';

/** What each client of PyPI needs; in places of their own, since they do not agree on the version of what they share. */
const packages = {
  'rfc3161-client': ['rfc3161-client==1.0.9'],
  'tsp-client': ['tsp-client==0.2.1', 'cryptography==37.0.4'],
  pyHanko: ['pyhanko==0.38.0', 'aiohttp==3.14.5', 'requests==2.34.2'],
  'c2pa-python': ['c2pa-python==0.38.1', 'cryptography==50.0.2'],
} as const;
type PythonPackage = keyof typeof packages;

const placeOf = (context: StackContext, name: PythonPackage): Promise<string> => pythonPlace(context, name.toLowerCase(), packages[name]);

/** A client of test/interop/time-stamp-clients.py. */
function pythonClient(name: string, from: PythonPackage): TimeStampClient {
  const script = join(checkoutDir, 'test/interop/time-stamp-clients.py');
  const drive = async (verb: string, { context, run, url, rootFile, keyFile, certificateFile }: Meeting) =>
    run(join(await placeOf(context, from), 'bin/python'), script, name, verb, `${url}/api/v1/tsa`, rootFile, keyFile, certificateFile);
  return { name, stamp: (meeting) => drive('stamp', meeting), verify: (meeting) => drive('verify', meeting) };
}

export const pythonClients: readonly TimeStampClient[] = [
  pythonClient('rfc3161-client', 'rfc3161-client'),
  pythonClient('tsp-client', 'tsp-client'),
  pythonClient('pyHanko', 'pyHanko'),
  pythonClient('pyHanko-LTA', 'pyHanko'),
  pythonClient('c2pa-python', 'c2pa-python'),
];
