import { createHash } from 'node:crypto';

/** How many random bytes a challenge is made of (W6). */
const challengeBytes = 32;

/** How many wrong tries a challenge survives (W6). */
export const maxWrongTries = 5;

/** A challenge as it goes into the mail, and what alone is stored of it. */
export interface MintedChallenge {
  /** 43 characters of base64url. */
  readonly challenge: string;
  /** SHA-256 of those characters, lower-case hex. */
  readonly digest: string;
}

/** Whether a text can be a challenge at all: a link that a mail program has cut in two costs no try (W6). */
export const isWellFormedChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/** What is stored of a challenge. Lower-case hex. */
export const digestOfChallenge = (challenge: string): string => createHash('sha256').update(challenge).digest('hex');

/**
 * Makes a challenge of randomness that the caller took from the system (W6).
 *
 * @throws RangeError not 32 bytes
 */
export function mintChallenge(randomness: Uint8Array): MintedChallenge {
  if (randomness.length !== challengeBytes) throw new RangeError(`a challenge takes ${challengeBytes} random bytes`);
  const challenge = Buffer.from(randomness).toString('base64url');
  return { challenge, digest: digestOfChallenge(challenge) };
}

/** What is known of a stored challenge. Times in milliseconds since the Unix epoch. */
export interface ChallengeRecord {
  readonly expiresAtMs: number;
  readonly isUsed: boolean;
  readonly wrongTries: number;
}

/** Why a challenge can no longer be answered, right or wrong: 410 (W6). */
export type ChallengeRefusal = 'challenge_used' | 'challenge_exhausted' | 'challenge_expired' | 'challenge_replaced';

/** Undefined while a right answer would be taken. */
export function challengeRefusal({ expiresAtMs, isUsed, wrongTries }: ChallengeRecord, nowMs: number): ChallengeRefusal | undefined {
  if (isUsed) return 'challenge_used';
  if (wrongTries >= maxWrongTries) return 'challenge_exhausted';
  return nowMs >= expiresAtMs ? 'challenge_expired' : undefined;
}
