import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from './context.ts';
import { createManagedProcess } from './managed-process.ts';
import { initiateReplicaSet } from './mongo-ready.ts';
import { findFreePort } from './ports.ts';
import type { ServerOptions, StackServer } from './server.ts';

/** Starts `mongod` as our child, a one-node replica set on loopback, with its data in `<dataDir>/mongod`. */
export async function startMongod(context: StackContext, program: string, source: string, options: ServerOptions): Promise<StackServer> {
  const folder = join(context.dataDir, 'mongod');
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort(options.preferredPort);
  const mongod = createManagedProcess({
    name: 'MongoDB',
    command: program,
    args: ['--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1', '--replSet', 'rs0', '--nounixsocket'],
    logFile: join(context.dataDir, 'logs', 'mongodb.log'),
    stopSignal: 'SIGTERM',
    checkReady: () => initiateReplicaSet(port, `127.0.0.1:${port}`),
  });
  await mongod.start(context.signal);
  return { ...mongod, url: `mongodb://127.0.0.1:${port}/?directConnection=true`, port, source };
}
