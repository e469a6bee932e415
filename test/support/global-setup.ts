import type { TestProject } from 'vitest/node';
import { launchChromium } from './chromium.ts';
import { installClient } from './client-package.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the one Chromium of the run listens; undefined if each process that needs one launches its own. */
    chromium: string | undefined;
    /** The folder with the installed client; undefined if each process that needs it installs it. */
    client: string | undefined;
  }
}

/** Makes once what several processes of a whole run need. A run of a few files makes only what it needs. */
export default async function prepare(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!process.env.TEST_WHOLE) return undefined;
  const [client, chromium] = await Promise.all([installClient(), process.env.TEST_CHROMIUM ? launchChromium() : undefined]);
  project.provide('client', client.place);
  project.provide('chromium', chromium?.wsEndpoint());
  return async () => {
    await chromium?.close();
    client.dispose();
  };
}
