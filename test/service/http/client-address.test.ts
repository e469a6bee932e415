import { expect, test } from 'vitest';
import { addressBucket, createHopTrust } from '../../../src/api/http/rate-limits.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0::/56'],
  ['2001:DB8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/56'],
  ['2001:db8:0:1ff::', '2001:db8:0:100::/56'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:0::/56'],
  ['::1', '0:0:0:0::/56'],
  ['fe80::1%eth0', 'fe80:0:0:0::/56'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['[2001:db8::1]:4711', '2001:db8:0:0::/56'],
  ['[2001:db8::1]', '2001:db8:0:0::/56'],
])('R1: %s counts as %s', (address, bucket) => {
  expect(addressBucket(address)).toBe(bucket);
});

test.each([
  ['10.1.2.3', true],
  ['10.1.2.3:443', true],
  ['::ffff:10.1.2.3', true],
  ['11.0.0.1', false],
  ['2001:db8::7', true],
  ['[2001:db8::7]:443', true],
  ['2001:db8::8', false],
  ['unknown', false],
  ['', false],
])('R1: whether %j is one of the trusted hops: %j', (address, isTrusted) => {
  expect(createHopTrust(['10.0.0.0/8', '2001:db8::7'])(address)).toBe(isTrusted);
});
