import type { FastifyInstance } from 'fastify';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { launchChromium } from './chromium.ts';
import { createPageServer } from './page-server.ts';

export interface SamplePages {
  readonly app: FastifyInstance;
  readonly url: string;
  /** Opens a page, lets `use` look at it, and returns what the browser complained about and asked for. */
  visit<T>(
    path: string,
    options: BrowserContextOptions,
    use: (page: Page) => Promise<T>,
  ): Promise<{ result: T; complaints: string[]; requests: string[] }>;
}

/** The sample pages in Chromium, for all tests of a file. */
export function useSamplePages(): SamplePages {
  let opened: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    opened = await open();
  }, 60_000);
  afterAll(() => opened?.close());
  return {
    get app() {
      return opened.app;
    },
    get url() {
      return opened.url;
    },
    visit: (...visited) => opened.visit(...visited),
  };
}

async function open(): Promise<SamplePages & { close(): Promise<void> }> {
  const app = await createPageServer();
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const browser = await launchChromium();
  return {
    app,
    url,
    visit: async (path, options, use) => {
      const context = await browser.newContext(options);
      const complaints: string[] = [];
      const requests: string[] = [];
      try {
        const page = await context.newPage();
        page.on('console', (message) => complaints.push(message.text()));
        page.on('pageerror', (error) => complaints.push(error.message));
        page.on('request', (request) => requests.push(request.url()));
        await page.goto(url + path);
        return { result: await use(page), complaints, requests };
      } finally {
        await context.close();
      }
    },
    close: async () => {
      await browser.close();
      await app.close();
    },
  };
}
