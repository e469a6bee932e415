import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkoutDir } from '../../scripts/stack/context.ts';

const read = (path: string): string => readFileSync(join(checkoutDir, path), 'utf8');
const withoutBlocks = (text: string): string => text.replace(/^ *```.*?^ *```$/gms, '');

/** The anchors of a document, as GitHub makes them from its headings. */
const anchorsOf = (path: string): string[] =>
  [...withoutBlocks(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** True if `link`, written in the file `from`, leads to a file, and to a heading in it. */
function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : join(dirname(from), path);
  return existsSync(join(checkoutDir, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

const documents = globSync(['*.md', '{docs,clients,examples}/**/*.md'], {
  cwd: checkoutDir,
  exclude: (path) => path.includes('node_modules'),
});

test.each(documents)('every link of %s leads to a file and a heading', (path) => {
  const links = [
    ...withoutBlocks(read(path))
      .replace(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, link = '']) => link);
  expect(links.filter((link) => !/^\w+:/.test(link) && !leadsSomewhere(path, link))).toEqual([]);
});

test('every document that code, scripts and views name exists', () => {
  const files = globSync(['{src,scripts,views,deploy,clients,test}/**/*.{ts,js,mjs,eta,py,yml}', '*.yml', '.env.example'], {
    cwd: checkoutDir,
    exclude: (path) => path.includes('node_modules'),
  });
  const named = files.flatMap((file) => [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([name]) => name));
  expect(named.length).toBeGreaterThan(20);
  expect([...new Set(named)].filter((name) => !existsSync(join(checkoutDir, name)))).toEqual([]);
});

interface Alert {
  alert: string;
  annotations: { runbook: string };
}

test('each alert has one section in the runbook, which says what it means and what to do, and no section is left over', () => {
  const { groups } = parse(read('deploy/prometheus-rules.yml')) as { groups: { rules: Alert[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules);
  const [, ...sections] = read('docs/operators/runbook.md').split(/^## /m);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(alerts.map(({ alert }) => alert));
  for (const { alert, annotations } of alerts) expect(annotations.runbook).toBe(`docs/operators/runbook.md#${alert.toLowerCase()}`);
  for (const section of sections) {
    for (const part of ['Users notice', 'Look at', 'Do', 'Over when']) expect(section).toContain(`\n- **${part}**:`);
  }
});
