import { hash } from 'node:crypto';

/** Octets of a salt: too many to guess, so the hidden value cannot be tested by guessing. */
export const saltBytes = 32;

/** The salts of a workflow's commitments (W18), lower-case hex. A salt proves its value; without the salt, nobody can test a guess. */
export interface CommitmentSalts {
  readonly email: string;
  readonly agent: string;
}

const commit = (salt: string, value: string): string =>
  hash('sha256', Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(value)]), 'hex');

/** Replaces personal data in a closing record (W18): SHA-256 over the octets of the salt and the UTF-8 of the value, lower-case hex. */
export const commitmentsOf = (salts: CommitmentSalts, values: { readonly email: string; readonly agentId: string }) => ({
  email: commit(salts.email, values.email),
  agent: commit(salts.agent, values.agentId),
});
