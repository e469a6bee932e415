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

/** The rules whose outcome colours and widths change. */
const ofScheme = ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'];

/**
 * What axe finds on a page, of any impact. Asked again of the same document, in another colour scheme or width, it looks at what
 * these can change; at everything in `npm run test:long`.
 */
export async function axeFindings(page: Page): Promise<string[]> {
  const isAgain = (await page.evaluate('typeof axe')) !== 'undefined';
  if (!isAgain) await page.evaluate(source);
  const options = { resultTypes: ['violations'], ...(isAgain && !isLong && { runOnly: { type: 'rule', values: ofScheme } }) };
  const findings = await page.evaluate<AxeFinding[]>(`axe.run(document, ${JSON.stringify(options)}).then((r) => r.violations)`);
  return findings.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
