import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface AxeFinding {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary: string }[];
}

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on a page, of any impact. */
export async function axeFindings(page: Page): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(source);
  const findings = await page.evaluate<AxeFinding[]>('axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations)');
  return findings.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
