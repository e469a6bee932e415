import type { StackContext } from '../../../scripts/stack/context.ts';
import { CommandError } from '../../../scripts/stack/run.ts';

/** What a client is given. */
export interface Meeting {
  readonly context: StackContext;
  /** The start of the service's addresses. */
  readonly url: string;
  /** A folder of the client's own. */
  readonly dir: string;
  /** PEM of the TSA's root certificate. */
  readonly rootFile: string;
  /** A key and a self-signed certificate to sign code and documents with, PEM. */
  readonly keyFile: string;
  readonly certificateFile: string;
  /** Runs a program in `dir`; answers its output. @throws CommandError */
  run(program: string, ...args: readonly string[]): Promise<string>;
}

/** A stranger that takes the address of a TSA. */
export interface TimeStampClient {
  readonly name: string;
  /** Makes something with a time-stamp in it. @throws CommandError */
  stamp(meeting: Meeting): Promise<unknown>;
  /** Lets the client verify what it made; absent where it cannot. @throws CommandError */
  verify?(meeting: Meeting): Promise<unknown>;
}

export const failed = (what: string): never => {
  throw new CommandError(what, '');
};
