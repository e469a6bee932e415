import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendChain } from '../../src/shared/domain/proofs.ts';
import { type ChainLink, chainStart } from '../../src/shared/proof/output-chain.js';
import { findChainFault } from '../support/chain-fault.ts';

const sha256Hex = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));

function chainOf(briefingHash: string, outputHashes: readonly string[]): ChainLink[] {
  let end = chainStart(briefingHash);
  return outputHashes.map((outputHash) => {
    end = extendChain(end, outputHash);
    return { ...end, outputHash };
  });
}

describe('output chain (W8)', () => {
  const briefing = 'aa'.repeat(32);
  const outputHash = 'bb'.repeat(32);

  it('hashes previous ‖ output ‖ number as 32 + 32 + 8 bytes, big-endian, from the briefing hash on', () => {
    const first = createHash('sha256')
      .update(Buffer.from(`${briefing}${outputHash}0000000000000001`, 'hex'))
      .digest('hex');
    const second = createHash('sha256')
      .update(Buffer.from(`${first}${outputHash}0000000000000002`, 'hex'))
      .digest('hex');
    expect(chainOf(briefing, [outputHash, outputHash])).toEqual([
      { sequenceNumber: 1, outputHash, chainHash: first },
      { sequenceNumber: 2, outputHash, chainHash: second },
    ]);
  });

  it('numbers beyond 32 bits', () => {
    const end = extendChain({ sequenceNumber: 2 ** 32, chainHash: briefing }, outputHash);
    const link = createHash('sha256').update(Buffer.from(`${briefing}${outputHash}0000000100000001`, 'hex'));
    expect(end).toEqual({ sequenceNumber: 2 ** 32 + 1, chainHash: link.digest('hex') });
  });

  it.each(['', 'ab', 'zz'.repeat(32), 'aa'.repeat(33), `${'aa'.repeat(31)}a\n`])('refuses %j as a hash', (bad) => {
    expect(() => extendChain(chainStart(briefing), bad)).toThrow(RangeError);
    expect(() => extendChain(chainStart(bad), outputHash)).toThrow(RangeError);
  });

  it('finds the first output with another number, hash or chain hash', () => {
    const chain = chainOf(briefing, [outputHash, outputHash, outputHash]);
    const changed = (change: Partial<ChainLink>) => findChainFault(briefing, chain.with(1, { ...chain[1]!, ...change }));
    expect(changed({ sequenceNumber: 3 })).toEqual({ sequenceNumber: 2, fault: 'number_out_of_order' });
    for (const change of [{ outputHash: briefing }, { chainHash: briefing }]) {
      expect(changed(change)).toEqual({ sequenceNumber: 2, fault: 'chain_hash_mismatch' });
    }
  });

  it('recomputes its own chains, and an empty one', () => {
    fc.assert(fc.property(sha256Hex, fc.array(sha256Hex), (from, hashes) => findChainFault(from, chainOf(from, hashes)) === undefined));
  });
});
