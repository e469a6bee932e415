import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { isLong } from './depth.ts';

interface AxeFinding {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary: string }[];
}

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules whose result depends on colours and widths. */
const ofScheme = ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'];

/**
 * The findings of axe on a page, of any impact. For the same document in another colour scheme or width it checks only the rules
 * that depend on these; in `npm run test:long` it checks all rules. `exclude`: selectors of parts that it does not check.
 */
export async function axeFindings(page: Page, { exclude = [] }: { exclude?: readonly string[] } = {}): Promise<string[]> {
  const isAgain = (await page.evaluate('typeof axe')) !== 'undefined';
  if (!isAgain) await page.evaluate(source);
  const options = { resultTypes: ['violations'], ...(isAgain && !isLong && { runOnly: { type: 'rule', values: ofScheme } }) };
  const findings = await page.evaluate<AxeFinding[]>(
    `axe.run({ exclude: ${JSON.stringify(exclude)} }, ${JSON.stringify(options)}).then((r) => r.violations)`,
  );
  return findings.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
