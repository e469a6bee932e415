import { type Db, MongoClient, MongoServerError } from 'mongodb';

const alreadyInitialized = 23;

async function withAdmin(port: number, run: (admin: Db) => Promise<void>): Promise<void> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, { serverSelectionTimeoutMS: 1000 });
  try {
    await run(client.db('admin'));
  } finally {
    await client.close();
  }
}

/** Resolves when the server reads from its store (a gateway answers `ping` before its PostgreSQL does). */
export const pingMongo = (port: number): Promise<void> =>
  withAdmin(port, async (admin) => {
    await admin.command({ listDatabases: 1, nameOnly: true });
  });

/** Makes a fresh mongod a one-node replica set whose member is `host`, and resolves when that node takes writes. */
export const initiateReplicaSet = (port: number, host: string): Promise<void> =>
  withAdmin(port, async (admin) => {
    try {
      await admin.command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host }] } });
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === alreadyInitialized)) throw error;
      const { config } = await admin.command({ replSetGetConfig: 1 });
      if (config.members[0].host !== host) {
        // The port changed since the last start; a node that does not find itself in the set stays useless.
        const members = [{ ...config.members[0], host }];
        await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
      }
    }
    const hello = await admin.command({ hello: 1 });
    if (hello.isWritablePrimary !== true) throw new Error('not primary yet');
  });
