import { createHash } from 'node:crypto';

/** The random bytes in a challenge (W6). */
const challengeBytes = 32;

/** The wrong tries that a challenge allows. */
export const maxWrongTries = 5;

/** A challenge for the mail, and its digest, which is all that is stored. */
export interface MintedChallenge {
  /** 43 characters of base64url. */
  readonly challenge: string;
  /** SHA-256 of those characters, lower-case hex. */
  readonly digest: string;
}

/** Whether a text can be a challenge at all: a link that a mail program has cut in two does not cost a try. */
export const isWellFormedChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/** The stored form of a challenge. Lower-case hex. */
export const digestOfChallenge = (challenge: string): string => createHash('sha256').update(challenge).digest('hex');

/**
 * Makes a challenge from random bytes of the system.
 *
 * @throws RangeError if there are not 32 bytes
 */
export function mintChallenge(randomness: Uint8Array): MintedChallenge {
  if (randomness.length !== challengeBytes) throw new RangeError(`a challenge takes ${challengeBytes} random bytes`);
  const challenge = Buffer.from(randomness).toString('base64url');
  return { challenge, digest: digestOfChallenge(challenge) };
}

/** The stored state of a challenge. Times in milliseconds since the Unix epoch. */
export interface ChallengeRecord {
  readonly expiresAtMs: number;
  readonly isUsed: boolean;
  readonly wrongTries: number;
}

/** Why a challenge cannot be answered any more, right or wrong: 410 (W6). */
export type ChallengeRefusal = 'challenge_used' | 'challenge_exhausted' | 'challenge_expired' | 'challenge_replaced';

/** Undefined while a right answer would be accepted. */
export function challengeRefusal({ expiresAtMs, isUsed, wrongTries }: ChallengeRecord, nowMs: number): ChallengeRefusal | undefined {
  if (isUsed) return 'challenge_used';
  if (wrongTries >= maxWrongTries) return 'challenge_exhausted';
  return nowMs >= expiresAtMs ? 'challenge_expired' : undefined;
}
