import { once } from 'node:events';
import net from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { freshStore } from '../../support/servers.ts';
import { type Settings, startPart, startProcess, testSettings } from '../../support/service.ts';
import { dumpDatabase } from '../../support/thief.ts';

/** The settings of a service, and a database in which other code wrote this document. */
async function writtenBefore(collection: string, document: { readonly _id: string; readonly number?: number }) {
  const settings = await testSettings();
  const db = await openDatabase({ settings });
  await collectionOf(db, collection).insertOne(document);
  return { settings, dump: () => dumpDatabase(db), name: db.databaseName };
}

const newer = { _id: 'form', number: 2 };
const lineOfNewer = (name: string) =>
  `MONGODB_URL: the database "${name}" was written by a newer qstamp (form 2; this one knows 1); run the newer version`;

test('E17: an empty database gets the number of its form once, whoever opens it first; it opens again', async () => {
  const given = freshStore();
  const openAll = async () => {
    const stores = [1, 2, 3].map(() => openStore(given, pino({ level: 'silent' })));
    await Promise.all(stores.map((store) => store.openKeys()));
    await Promise.all(stores.map((store) => store.close()));
  };
  await openAll();
  const db = await openDatabase({ settings: { MONGODB_URL: given.MONGODB_URL } });
  expect(await collectionOf(db, 'database').find().toArray()).toEqual([{ _id: 'form', number: 1 }]);
  await openAll();
  expect(await collectionOf(db, 'database').countDocuments()).toBe(1);
});

test('E17: a database of a newer version ends each process with one line, and nothing is written', async () => {
  const { settings, dump, name } = await writtenBefore('database', newer);
  for (const kind of ['api', 'workers'] as const) {
    await expect(startPart(kind, settings)).rejects.toThrow(new ConfigError(lineOfNewer(name)));
    await expect(startProcess(kind, settings)).rejects.toThrow(new Error(`${kind} exited with 1:\n${lineOfNewer(name)}\n`));
  }
  expect(await dump()).toEqual({ database: [newer] });
});

test('E17: a database without a number ends each process with one line that names the folder to remove, and nothing is written', async () => {
  const { settings, dump, name } = await writtenBefore('keys', { _id: 'mock-provider' });
  const line = `MONGODB_URL: the database "${name}" was written by an unreleased qstamp, and this version cannot read it; remove the folder .local if npm start made the database, otherwise drop it`;
  for (const kind of ['api', 'workers'] as const) await expect(startPart(kind, settings)).rejects.toThrow(new ConfigError(line));
  expect(await dump()).toEqual({ keys: [{ _id: 'mock-provider' }] });
});

/** A place for MongoDB where nobody listens until `open` is called. */
async function lateMongo({ MONGODB_URL = '' }: Settings): Promise<{ url: string; open(): void }> {
  const behind = new URL(MONGODB_URL);
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    const upstream = net.connect(Number(behind.port), behind.hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = new URL(MONGODB_URL);
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, open: () => void server.listen(port, '127.0.0.1') };
}

test.each(['api', 'workers'] as const)(
  'E17: %s that started while MongoDB was away ends with the line soon after it answers',
  async (kind) => {
    const { settings, name } = await writtenBefore('database', newer);
    const mongo = await lateMongo(settings);
    const started = await startProcess(kind, { ...settings, MONGODB_URL: mongo.url });
    onTestFinished(async () => void (await started.stop()));
    mongo.open();
    await eventually(async () => started.output().includes(lineOfNewer(name)));
    expect(await started.stop()).toBe(1);
  },
);
