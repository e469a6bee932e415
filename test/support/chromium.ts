import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

function findOnPath(names: readonly string[]): string {
  const candidates = names.flatMap((name) => (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name)));
  const found = candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (!found) throw new Error(`the browser tests need one of ${names.join(', ')} on PATH`);
  return found;
}

/** The Chromium of the machine, without background requests. */
const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findOnPath(['chromium', 'chromium-browser', 'google-chrome']),
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

/** A separate profile in the one Chromium of this test process, which runs until the process ends. */
export async function openProfile(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  running ??= launchChromium();
  return (await running).newContext(options);
}

/** An empty page in a separate profile, closed when the test ends. */
export async function openPage(): Promise<Page> {
  const profile = await openProfile();
  onTestFinished(() => profile.close());
  return profile.newPage();
}
