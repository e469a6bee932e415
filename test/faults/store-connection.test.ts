import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/shared/store/connection.ts';
import { eventually } from '../support/requests.ts';
import { freshMongoUrl } from '../support/servers.ts';

/** The driver's least time between two heartbeats. */
const minHeartbeatFrequencyMS = 500;

/** What of the driver's inside the test breaks (mongodb 7.9). */
interface Monitor {
  readonly connection: { readonly socket: Socket; readonly closed: boolean };
  requestCheck(): void;
}

interface Driver {
  on(event: 'serverHeartbeatSucceeded', listener: () => void): void;
  readonly topology: { readonly s: { readonly servers: ReadonlyMap<string, { readonly monitor: Monitor }> } };
}

/** A way to the store that can be held up: connections are taken, and nothing passes. */
async function openDetour(target: URL) {
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer((client) => {
    const store = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to).on('error', () => from.destroy());
      if (isHeld) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  const each = (act: (socket: Socket) => void) => {
    for (const socket of sockets) act(socket);
  };
  return {
    url: url.href,
    hold: () => {
      isHeld = true;
      each((socket) => socket.pause());
    },
    release: () => {
      isHeld = false;
      each((socket) => socket.resume());
    },
    close: () => {
      server.close();
      each((socket) => socket.destroy());
    },
  };
}

/** A connection whose driver has stopped to look for the store (mongodb 7.9). */
async function openStuck(url: string) {
  const { db, close } = connectStore(url, pino({ level: 'silent' }));
  onTestFinished(close);
  const driver = (db as unknown as { client: Driver }).client;
  const write = () =>
    db
      .collection('written')
      .insertOne({})
      .then(
        ({ acknowledged }) => acknowledged,
        () => false,
      );
  await eventually(write);
  // Asked for sooner after another, a heartbeat waits.
  const connectedAt = performance.now();
  await eventually(async () => performance.now() - connectedAt > minHeartbeatFrequencyMS);
  const heartbeats = { count: 0 };
  driver.on('serverHeartbeatSucceeded', () => {
    heartbeats.count += 1;
  });
  const [{ monitor }] = [...driver.topology.s.servers.values()] as [{ monitor: Monitor }];
  monitor.connection.socket.destroy();
  monitor.requestCheck();
  await eventually(async () => monitor.connection.closed);
  expect([heartbeats.count, monitor.connection.socket.listenerCount('drain')]).toEqual([0, 1]);
  return { write, heartbeats };
}

test('a heartbeat that the driver waits for without end: the connection is made anew, and the same handle writes (E10)', async () => {
  const { write, heartbeats } = await openStuck(freshMongoUrl());
  await eventually(async () => heartbeats.count > 0);
  await eventually(write);
});

test('also when the store answers nothing just then (E10)', async () => {
  const detour = await openDetour(new URL(freshMongoUrl()));
  onTestFinished(detour.close);
  const { write, heartbeats } = await openStuck(detour.url);
  detour.hold();
  const heldAt = performance.now();
  // Longer than the watch and every attempt to connect anew.
  await eventually(async () => performance.now() - heldAt > 12_000);
  expect(heartbeats.count).toBe(0);
  detour.release();
  await eventually(async () => heartbeats.count > 0, 30_000);
  await eventually(write);
});
