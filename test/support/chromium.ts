import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

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

/** The machine's own Chromium, quiet: it looks nothing up by itself. */
export const launchChromium = (): Promise<Browser> =>
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
