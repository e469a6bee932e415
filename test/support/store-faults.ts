import { once } from 'node:events';
import net from 'node:net';
import { MongoClient } from 'mongodb';
import type { DocumentDbServer } from '../../scripts/stack/documentdb.ts';
import type { StackServer } from '../../scripts/stack/server-process.ts';

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** Runs one statement as the administrator, in the protocol of PostgreSQL (version 3.0), because our packages include no client for it. */
async function runSql(port: number, statement: string): Promise<void> {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const query = Buffer.from(`${statement}\0`);
  socket.write(Buffer.concat([int32(8 + parameters.length), int32(0x0003_0000), parameters]));
  // The query, and the message that makes the server close.
  socket.write(Buffer.concat([Buffer.from('Q'), int32(4 + query.length), query, Buffer.from('X'), int32(4)]));
  const answer = Buffer.concat(await socket.toArray());
  if (/\0S(ERROR|FATAL)\0/.test(`\0${answer.toString('latin1')}`)) throw new Error(`${statement}: ${answer.toString('latin1')}`);
}

/** Makes a private store answer but refuse writes, like a full or read-only one; the returned function repairs it. */
export async function refuseWrites(mongo: StackServer | DocumentDbServer): Promise<() => Promise<void>> {
  if ('postgresPort' in mongo) {
    const set = async (value: 'on' | 'off') => {
      await runSql(mongo.postgresPort, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await runSql(mongo.postgresPort, 'SELECT pg_reload_conf()');
    };
    await set('on');
    return () => set('off');
  }
  const client = await MongoClient.connect(mongo.url);
  await client.db('admin').command({ fsync: 1, lock: true });
  return async () => {
    await client.db('admin').command({ fsyncUnlock: 1 });
    await client.close();
  };
}
