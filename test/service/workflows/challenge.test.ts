import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { challengeRefusal, mintChallenge } from '../../../src/shared/domain/challenge.ts';

describe('challenge (W6)', () => {
  it('is 32 bytes as base64url; only its SHA-256 is stored', () => {
    const { challenge, digest } = mintChallenge(Buffer.alloc(32, 0xff));
    expect(challenge).toBe('__________________________________________8');
    expect(digest).toBe(createHash('sha256').update(challenge).digest('hex'));
    expect(digest).not.toContain(challenge);
  });

  it('accepts exactly 32 random bytes', () => {
    for (const bytes of [0, 16, 31, 33]) expect(() => mintChallenge(randomBytes(bytes))).toThrow(RangeError);
  });

  it('is valid until it expires, is used, or has a hundred wrong tries', () => {
    const fresh = { expiresAtMs: 1000, isUsed: false, wrongTries: 0 };
    expect(challengeRefusal(fresh, 999)).toBeUndefined();
    expect(challengeRefusal(fresh, 1000)).toBe('challenge_expired');
    expect(challengeRefusal({ ...fresh, wrongTries: 99 }, 999)).toBeUndefined();
    expect(challengeRefusal({ ...fresh, wrongTries: 100 }, 999)).toBe('challenge_exhausted');
    expect(challengeRefusal({ ...fresh, isUsed: true, wrongTries: 100 }, 1000)).toBe('challenge_used');
  });
});
