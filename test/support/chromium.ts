import { type Browser, type BrowserContext, type BrowserContextOptions, type BrowserServer, chromium, type Page } from 'playwright-core';
import { inject, onTestFinished, test } from 'vitest';
import { findProgram } from '../../scripts/stack/run.ts';
import { patience } from './pace.ts';

/** The browser that `npm test` found; without it, one on PATH; empty if there is none. */
const program =
  process.env.TEST_CHROMIUM ?? findProgram('chromium-headless-shell') ?? findProgram('chromium') ?? findProgram('google-chrome') ?? '';

/** Tests in a browser; skipped on a machine without one. */
export const browserTest = test.skipIf(program === '');

/** The Chromium of the machine, without background requests. */
export const launchChromium = (): Promise<BrowserServer> =>
  chromium.launchServer({
    executablePath: program,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

let running: Promise<Browser> | undefined;

/** A separate profile in the one Chromium of this run, or of this test process, which runs until the end. */
export async function openProfile(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  running ??= (async () => chromium.connect(inject('chromium') ?? (await launchChromium()).wsEndpoint()))();
  const profile = await (await running).newContext(options);
  profile.setDefaultTimeout(patience(60_000));
  return profile;
}

/** An empty page in a separate profile, closed when the test ends. */
export async function openPage(): Promise<Page> {
  const profile = await openProfile();
  onTestFinished(() => profile.close());
  return profile.newPage();
}
