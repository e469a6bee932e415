import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openPage } from '../support/chromium.ts';
import { installedClient } from '../support/client-package.ts';
import { sha256 } from '../support/requests.ts';
import { sharedService } from '../support/service.ts';

const installed = await installedClient();

/** The work of a bundler, or of a page without one. */
const importMap = JSON.stringify({
  imports: { 'qstamp-client': '/modules/qstamp-client/dist/index.js', '@noble/hashes/': '/modules/@noble/hashes/' },
});

/** The use of the package by a page; `dropped` is the file input. */
const script = `
  import { Qstamp, requireValid } from 'qstamp-client';
  const qstamp = new Qstamp({ url: location.origin });
  document.querySelector('input').addEventListener('change', async ({ target }) => {
    try {
      const [file] = target.files;
      const stamp = await qstamp.stampFile(file);
      requireValid(await qstamp.verifyFile(file, stamp));
      document.body.dataset.hash = stamp.content_sha256;
    } catch (error) {
      document.body.dataset.hash = String(error);
    }
  });
  document.body.dataset.ready = 'yes';`;

test('in a browser without Node: a file is hashed on the page, stamped and verified', async () => {
  const [service, page] = await Promise.all([sharedService(), openPage()]);
  // A page of another application, on the origin of the service like behind a proxy.
  await page.route(`${service.url}/app`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><script type="importmap">${importMap}</script><input type="file"><script type="module">${script}</script>`,
    }),
  );
  await page.route(`${service.url}/modules/**`, (route) => {
    const name = new URL(route.request().url()).pathname.replace('/modules/', '');
    const body = readFileSync(join(installed.folder, 'node_modules', name));
    return route.fulfill({ contentType: 'text/javascript', body });
  });
  await page.goto(`${service.url}/app`);
  await page.locator('body[data-ready]').waitFor();
  const buffer = Buffer.from(Uint8Array.from({ length: 3_000_001 }, (_, index) => index % 253));
  await page.setInputFiles('input', { name: 'output.bin', mimeType: 'application/octet-stream', buffer });
  const body = page.locator('body[data-hash]');
  await body.waitFor();
  expect(await body.getAttribute('data-hash')).toBe(sha256(buffer));
});
