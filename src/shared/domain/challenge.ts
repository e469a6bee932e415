import { createHash } from 'node:crypto';

/** The number of random bytes in a challenge (W6). */
const challengeBytes = 32;

/** After this number of wrong tries of all clients together, a challenge is refused. */
export const maxWrongTries = 100;

/** After this number of wrong tries, a challenge is refused for this client. Strangers may use up their own tries, but not those of the recipient. */
export const maxWrongTriesOfClient = 5;

/** What confirms an e-mail address (W6): opening the link in the mail, or the button on the page that the link opens. */
export type ConfirmWith = 'link' | 'button';

/** Returns true if a text has the form of a challenge. If a mail program has cut the link in two, opening it does not count as a wrong try. */
export const isWellFormedChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/** The stored form of a challenge: its SHA-256, lower-case hex. */
export const digestOfChallenge = (challenge: string): string => createHash('sha256').update(challenge).digest('hex');

/** Makes a challenge for the mail from random bytes of the system, and its digest. Only the digest is stored. */
export function mintChallenge(randomness: Uint8Array) {
  if (randomness.length !== challengeBytes) throw new RangeError(`a challenge takes ${challengeBytes} random bytes`);
  const challenge = Buffer.from(randomness).toString('base64url');
  return { challenge, digest: digestOfChallenge(challenge) };
}

/** The stored state of a challenge. Times in milliseconds since the Unix epoch. */
interface ChallengeRecord {
  readonly expiresAtMs: number;
  readonly isUsed: boolean;
  readonly wrongTries: number;
}

/** Why the service refuses even the right answer to a challenge, with 410 (W6). */
export type ChallengeRefusal = 'challenge_used' | 'challenge_exhausted' | 'challenge_expired' | 'challenge_replaced';

/** Returns why a challenge is refused, or undefined while the right answer is accepted. */
export function challengeRefusal({ expiresAtMs, isUsed, wrongTries }: ChallengeRecord, nowMs: number): ChallengeRefusal | undefined {
  if (isUsed) return 'challenge_used';
  if (wrongTries >= maxWrongTries) return 'challenge_exhausted';
  return nowMs >= expiresAtMs ? 'challenge_expired' : undefined;
}
