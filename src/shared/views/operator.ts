import type { Config } from '../runtime/config.ts';

/** The operator of this installation, as pages and mails name it. */
export interface Operator {
  readonly name: string;
  readonly url: string | null;
  /** An e-mail address, a telephone number, a postal address: one line of text. */
  readonly contact: string | null;
}

/** Returns the operator from the settings, or null if no name is set. */
export function operatorOf(config: Pick<Config, 'OPERATOR_NAME' | 'OPERATOR_URL' | 'OPERATOR_CONTACT'>): Operator | null {
  const { OPERATOR_NAME: name, OPERATOR_URL: url = null, OPERATOR_CONTACT: contact = null } = config;
  return name === undefined ? null : { name, url, contact };
}
