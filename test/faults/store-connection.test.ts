import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/shared/store/connection.ts';
import { eventually } from '../support/requests.ts';
import { freshMongoUrl } from '../support/servers.ts';

/** The shortest time between two heartbeats of the driver. */
const minHeartbeatFrequencyMS = 500;

/** The driver internals that the test breaks (mongodb 7.9). */
interface Monitor {
  readonly connection: { readonly socket: Socket; readonly closed: boolean };
  requestCheck(): void;
}

test('if the driver waits for a heartbeat without end, the connection is renewed, and the same handle writes (E10)', async () => {
  const { db, close } = connectStore(freshMongoUrl(), pino({ level: 'silent' }));
  onTestFinished(close);
  const { client } = db as unknown as {
    client: import('mongodb').MongoClient & { topology: { s: { servers: Map<string, { monitor: Monitor }> } } };
  };
  const write = () =>
    db
      .collection('written')
      .insertOne({})
      .then(
        ({ acknowledged }) => acknowledged,
        () => false,
      );
  await eventually(write);
  // A heartbeat requested sooner after another one waits.
  const connectedAt = performance.now();
  await eventually(async () => performance.now() - connectedAt > minHeartbeatFrequencyMS);
  let heartbeats = 0;
  client.on('serverHeartbeatSucceeded', () => {
    heartbeats += 1;
  });

  const [{ monitor }] = [...client.topology.s.servers.values()] as [{ monitor: Monitor }];
  monitor.connection.socket.destroy();
  monitor.requestCheck();
  await eventually(async () => monitor.connection.closed);
  expect([heartbeats, monitor.connection.socket.listenerCount('drain')]).toEqual([0, 1]);

  await eventually(async () => heartbeats > 0);
  await eventually(write);
});
