import type { Page } from 'playwright-core';
import { openProfile } from './chromium.ts';

const verdicts = { proved: 'valid', refused: 'not_valid', not_proved: 'not_proved', test: 'test' } as const;

export interface PageVerdict {
  readonly verdict: (typeof verdicts)[keyof typeof verdicts];
  /** All words of the page. */
  readonly text: string;
}

/** Drops an evidence bundle and files on the page /verify of a service, and returns the verdict shown. */
export type AskPage = (serviceUrl: string, zip: Buffer, files?: Readonly<Record<string, string>>) => Promise<PageVerdict>;

export async function openVerifyPage(onEnd: (close: () => Promise<void>) => void): Promise<AskPage> {
  const profile = await openProfile();
  onEnd(() => profile.close());
  const page: Page = await profile.newPage();
  return async (serviceUrl, zip, files = {}) => {
    await page.goto(`${serviceUrl}/verify`);
    const given = Object.entries({ 'bundle.zip': zip, ...files });
    await page.setInputFiles(
      '#file',
      given.map(([name, content]) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) })),
    );
    const verdict = page.locator('#answer #verdict');
    await verdict.waitFor();
    const [, kind] = /verdict-(proved|refused|not_proved|test)/.exec((await verdict.getAttribute('class')) ?? '') ?? [];
    return { verdict: verdicts[kind as keyof typeof verdicts], text: await page.innerText('main') };
  };
}
