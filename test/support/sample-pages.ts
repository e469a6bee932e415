import type { FastifyInstance } from 'fastify';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { openProfile } from './chromium.ts';
import { createPageServer } from './page-server.ts';

export interface SamplePages {
  readonly app: FastifyInstance;
  readonly url: string;
  /** Opens a page, runs `use` on it, and returns the complaints and requests of the browser. */
  visit<T>(
    path: string,
    options: BrowserContextOptions,
    use: (page: Page) => Promise<T>,
  ): Promise<{ result: T; complaints: string[]; requests: string[] }>;
}

async function open(): Promise<SamplePages> {
  const app = await createPageServer();
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  // A page keeps its renderer when it navigates; starting a renderer is most of the cost of a new page.
  const idle = new Map<string, Page>();
  const takePage = async (options: BrowserContextOptions): Promise<Page> => {
    const key = JSON.stringify(options);
    const page = idle.get(key) ?? (await (await openProfile(options)).newPage());
    idle.delete(key);
    return page;
  };
  const giveBack = async (page: Page, options: BrowserContextOptions) => {
    page.removeAllListeners();
    await page.unrouteAll();
    await page.emulateMedia({ media: null, colorScheme: options.colorScheme ?? 'light' });
    await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
    await page.goto('about:blank');
    idle.set(JSON.stringify(options), page);
  };
  return {
    app,
    url,
    visit: async (path, options, use) => {
      const page = await takePage(options);
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(url + path);
      const result = await use(page);
      await giveBack(page, options);
      return { result, complaints, requests };
    },
  };
}

/** Opens every part of a page that can be opened. */
export const openParts = (page: Page) => page.evaluate(`for (const part of document.querySelectorAll('details')) part.open = true`);

let opened: Promise<SamplePages> | undefined;

/** The sample pages in Chromium, once for all tests of this process. */
export const samplePages = (): Promise<SamplePages> => {
  opened ??= open();
  return opened;
};
