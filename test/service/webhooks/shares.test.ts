import { expect, test } from 'vitest';
import { createDeliveryShares, type Place } from '../../../src/workers/webhooks/webhook-job.ts';

/** Of 128 places, the default of a worker. */
function createLab() {
  let now = 1_000_000;
  const shares = createDeliveryShares({ places: 128, monotonic: () => now });
  /** Takes this many places, and returns the pauses of requests that got none. */
  const take = (product: string, host: string, count = 1) => {
    const answers = Array.from({ length: count }, () => shares.take(product, host));
    return {
      places: answers.filter((answer): answer is Place => 'release' in answer),
      pauses: answers.flatMap((answer) => ('waitMs' in answer ? answer.waitMs : [])),
    };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { take, pass };
}

test('N5: a host has eight places, a product 32, and neither takes places from another product', () => {
  const { take } = createLab();
  const atFirstHost = take('a', 'a1', 9);
  expect(atFirstHost.places).toHaveLength(8);
  expect(take('a', 'a1:8443', 9).places).toHaveLength(8);
  const others = Array.from({ length: 50 }, (_, index) => take('a', `single-${index}`).places);
  expect(others.flat()).toHaveLength(16);
  expect(take('b', 'a1', 9).places).toHaveLength(8);

  for (const place of atFirstHost.places.slice(0, 2)) place.release();
  expect(take('a', 'a1', 9).places).toHaveLength(2);
  expect(() => atFirstHost.places[0]!.release()).toThrow('released only once');
});

test('N5: without a place a webhook pauses for a second; each further one starts a hundredth of a second later', () => {
  const { take, pass } = createLab();
  take('a', 'a1', 8);
  take('b', 'b1', 8);
  const { pauses } = take('a', 'a1', 500);
  expect([pauses[0], pauses[1], pauses.at(-1)]).toEqual([1_000, 1_010, 5_990]);
  expect(take('b', 'b1').pauses).toEqual([1_000]);
  pass(4_990);
  expect(take('a', 'a1').pauses).toEqual([1_010]);
  pass(60_000);
  expect(take('a', 'a1').pauses).toEqual([1_000]);
});

test.each([
  [1, 1],
  [4, 1],
  [16, 4],
])('N5: a worker that sends %i webhooks at a time has %i places for a product', (places, ofProduct) => {
  const shares = createDeliveryShares({ places, monotonic: () => 0 });
  const taken = Array.from({ length: 20 }, (_, index) => shares.take('a', `host-${index}`)).filter((answer) => 'release' in answer);
  expect(taken).toHaveLength(ofProduct);
});
