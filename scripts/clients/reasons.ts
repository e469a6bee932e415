import { REASONS, type ReasonCode, verdictOf } from '../../src/shared/domain/reasons.ts';

/** The document of all reason codes, `docs/reference/reasons.md`. */
export function reasonsPage(): string {
  const codes = Object.keys(REASONS) as ReasonCode[];
  return `${introduction}${codes.map(rowOf).join('\n')}\n`;
}

const rowOf = (code: ReasonCode): string => {
  const { sentence, advice = '', refusal = '' } = REASONS[code];
  return `| \`${code}\` | ${sentence} | ${advice} | \`${verdictOf(code)}\` | ${refusal} |`;
};

const introduction = `# Why something does not verify

\`npm run clients\` makes this page from the code.

If \`valid\` is false, \`reason\` in the answer is \`code: sentence\`. Let programs use the code, and show people the sentence. The API has no other codes, and no code ever changes its meaning. \`advice\` says what you can do, if anything.

\`verdict\` is \`not_valid\` if something is wrong. It is \`not_proved\` in three cases: no authority which the service trusts confirms the token, something for the check is missing, or the service could not check, because it does not know an algorithm or has a defect. A token for another hash is *not valid* all the same.

The number is that of [a refusal](refusals.md), which explains more. Codes without a number have [a list](refusals.md#refused-beside-the-list) on the same page.

| Code | Sentence | Advice | Verdict | Refusal |
|---|---|---|---|---|
`;
