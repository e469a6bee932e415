/** Who runs this installation (`OPERATOR_NAME`, `OPERATOR_URL`, `OPERATOR_CONTACT`), as pages and mails name it. */
export interface Operator {
  readonly name: string;
  readonly url: string | null;
  /** An e-mail address, a telephone number, a postal address: one line of text. */
  readonly contact: string | null;
}
