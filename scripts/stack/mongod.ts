import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, MongoClient, MongoServerError } from 'mongodb';
import type { StackContext } from './context.ts';
import { findFreePort } from './ports.ts';
import { createServerProcess, type ServerOptions, type StackServer } from './server-process.ts';

const alreadyInitialized = 23;
/** The answer of a gateway that has no replica sets, so it need not be initialized: it accepts writes at once. */
const commandNotFound = 59;

async function withAdmin(host: string, port: number, run: (admin: Db) => Promise<void>): Promise<void> {
  const client = new MongoClient(`mongodb://${host}:${port}/?directConnection=true`, { serverSelectionTimeoutMS: 1000 });
  try {
    await run(client.db('admin'));
  } finally {
    await client.close();
  }
}

/** Resolves if the server can read its data. `ping` is not enough, because a gateway answers it before its PostgreSQL is ready. */
export const pingMongo = (port: number): Promise<void> =>
  withAdmin('127.0.0.1', port, async (admin) => {
    await admin.command({ listDatabases: 1, nameOnly: true });
  });

/**
 * Writes the current address of the node into the replica set. After its port has changed, a node that does not find itself in the set cannot be
 * used.
 */
async function nameMember(admin: Db, host: string): Promise<void> {
  const { config } = await admin.command({ replSetGetConfig: 1 });
  if (config.members[0].host === host) return;
  const members = [{ ...config.members[0], host }];
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
}

/** Makes a mongod at `address` a replica set of one node with the member `host`, and resolves when this node accepts writes. */
export const initiateReplicaSet = (port: number, host: string, address = '127.0.0.1'): Promise<void> =>
  withAdmin(address, port, async (admin) => {
    try {
      await admin.command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host }] } });
    } catch (error) {
      const code = error instanceof MongoServerError ? error.code : undefined;
      if (code === alreadyInitialized) await nameMember(admin, host);
      else if (code !== commandNotFound) throw error;
    }
    const hello = await admin.command({ hello: 1 });
    if (hello.isWritablePrimary !== true) throw new Error('not primary yet');
  });

/** Starts `mongod` as our child: a replica set of one node on the loopback address, with its data in `<dataDir>/mongod`. */
export async function startMongod(
  { dataDir, signal }: StackContext,
  program: string,
  source: string,
  options: ServerOptions,
): Promise<StackServer> {
  const folder = join(dataDir, 'mongod');
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort(options.preferredPort);
  const mongod = createServerProcess({
    name: 'MongoDB',
    command: program,
    args: ['--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1', '--replSet', 'rs0', '--nounixsocket'],
    logFile: join(dataDir, 'logs', 'mongodb.log'),
    stopSignal: 'SIGTERM',
    checkReady: () => initiateReplicaSet(port, `127.0.0.1:${port}`),
  });
  await mongod.start(signal);
  return { ...mongod, url: `mongodb://127.0.0.1:${port}/?directConnection=true`, port, source };
}
