import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyView from '@fastify/view';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { encode } from 'uqr';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import type { errorPageOf } from './error-page.ts';

/**
 * The model of each page, by the name of its template. Each capability adds its own pages. Times are RFC 3339 in UTC, hashes are lower-case hex, URLs
 * are relative; the templates format them for people. Models contain nothing secret: no complete e-mail address, no token of a caller, no metadata.
 */
export interface PageModels {
  readonly error: ReturnType<typeof errorPageOf>;
}

/** The kinds of page with styles of their own, in a file of this name. All other pages have the style sheet `plain`. */
const styledKinds = ['docs', 'start', 'status', 'verify', 'workflow'];

/**
 * Reads the files that browsers may fetch, by their paths below the common prefix of all assets; scripts import each other by these paths. Pages use
 * the same proof code as the service, and the hash functions of an npm package. Each kind of page has one style sheet, made from its parts.
 */
function readAssets(): ReadonlyMap<string, string> {
  const assets = new Map<string, string>();
  const add = (at: string, folder: string, files = readdirSync(folder).sort()) => {
    for (const file of files) assets.set(at + file, readFileSync(join(folder, file), 'utf8'));
  };
  add('', join(viewsFolder, 'assets'));
  add('proof/', fileURLToPath(new URL('../../shared/proof', import.meta.url)));
  // The npm package has more files, but SHA-2 needs only these four.
  const hashes = dirname(fileURLToPath(import.meta.resolve('@noble/hashes/sha2.js')));
  add('@noble/hashes/', hashes, ['_md.js', '_u64.js', 'sha2.js', 'utils.js']);
  const viewer = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist')));
  add('swagger-ui/', viewer, ['swagger-ui-bundle.js', 'swagger-ui.css']);
  // Later parts win.
  const sheetOf = (...own: readonly string[]) =>
    ['base', 'document', 'tones', 'tables', 'forms', ...own, 'print']
      .map((part) => readFileSync(join(viewsFolder, 'styles', `${part}.css`), 'utf8'))
      .join('\n');
  assets.set('plain.css', sheetOf());
  for (const kind of styledKinds) assets.set(`${kind}.css`, sheetOf(kind));
  return assets;
}

/** Returns the scripts that a script imports, and those that they import, by the names under which they are served. */
function importedBy(script: string, assets: ReadonlyMap<string, string>, known = new Set<string>()): ReadonlySet<string> {
  for (const [, path = ''] of assets.get(script)?.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)';$/gm) ?? []) {
    const imported = posix.join(posix.dirname(script), path);
    if (known.has(imported)) continue;
    known.add(imported);
    importedBy(imported, assets, known);
  }
  return known;
}

/**
 * Serves the assets under `/assets/<digest of all assets>/`, so that browsers may cache them for ever and scripts can import each other by their
 * plain names. A URL of another build is 404, never the content of this build. Returns a function that gives the URL path of a file, and one that
 * gives the paths of all scripts that a script needs: a page names them, so that they load in one round trip.
 */
function registerAssets(app: FastifyInstance) {
  const assets = readAssets();
  const digest = createHash('sha256');
  for (const [name, text] of assets) digest.update(name).update(text);
  const prefix = `/assets/${digest.digest('hex').slice(0, 12)}/`;
  for (const [name, text] of assets) {
    const type = name.endsWith('.css') ? 'text/css' : 'application/javascript';
    app.get(prefix + name, (_request, reply) =>
      reply.type(`${type}; charset=utf-8`).header('cache-control', 'public, max-age=31536000, immutable').send(text),
    );
  }
  const urlOf = (file: string): string => {
    if (!assets.has(file)) throw new Error(`there is no asset ${file}`);
    return prefix + file;
  };
  return { urlOf, modulesOf: (script: string): string[] => [...importedBy(script, assets)].map(urlOf) };
}

/** Makes a QR code as one SVG path of dark squares, in a view box of `size` modules. This includes the empty border of four modules. */
function qrCode(text: string): { readonly size: number; readonly path: string } {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size, path };
}

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with a page of `views/`. The type of the model depends on the page's name. */
    page<Name extends keyof PageModels>(name: Name, model: PageModels[Name]): FastifyReply;
  }
}

/** Adds `reply.page` and serves the assets. Call it on the root instance, so that every route sees the decorators. */
export async function registerViews(app: FastifyInstance, { operator }: { operator: Operator | null }): Promise<void> {
  const assets = registerAssets(app);
  await app.register(fastifyView, {
    engine: { eta: createViewEngine(assets) },
    root: viewsFolder,
    production: true,
    defaultContext: { operator, qrCode },
  });
  app.decorateReply('page', function page(this: FastifyReply, name: keyof PageModels, model: PageModels[keyof PageModels]) {
    // A page shows the current state, so caches must ask again each time. The page of verify-user must not be stored at all.
    if (!this.hasHeader('cache-control')) this.header('cache-control', name === 'verify-user' ? 'no-store' : 'no-cache');
    return this.view(`${name}.eta`, model);
  });
}
