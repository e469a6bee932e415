import { hash } from 'node:crypto';

/** Octets of a salt: nobody guesses it, so nobody can test a guess of what it hides. */
export const saltBytes = 32;

/** The salts of a workflow's commitments (W18), lower-case hex: with one, its value can be proved; without it, nobody can test a guess. */
export interface CommitmentSalts {
  readonly email: string;
  readonly agent: string;
}

const commit = (salt: string, value: string): string =>
  hash('sha256', Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(value)]), 'hex');

/** What stands for a person in a closing record (W18): SHA-256 over the octets of the salt and the UTF-8 of the value, lower-case hex. */
export const commitmentsOf = (salts: CommitmentSalts, values: { readonly email: string; readonly agentId: string }) => ({
  email: commit(salts.email, values.email),
  agent: commit(salts.agent, values.agentId),
});
