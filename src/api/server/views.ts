import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import fastifyView from '@fastify/view';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { encode } from 'uqr';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import type { ErrorPage } from './error-page.ts';

/**
 * Every page by the name of its template; a capability adds those of its own. Times are RFC 3339 in UTC, hashes lower-case hex, addresses relative;
 * templates write them for people. Nothing here is secret: no whole e-mail address, no token of a caller, no metadata.
 */
export interface PageModels {
  readonly error: ErrorPage;
}

/**
 * What browsers may fetch, by where it is below the address of all assets: scripts import each other by these paths. Pages prove with the files that the
 * service itself proves with, and with the hash functions of a package.
 */
const assetFolders = [
  { at: '', folder: join(viewsFolder, 'assets') },
  { at: 'proof/', folder: fileURLToPath(new URL('../../shared/proof', import.meta.url)) },
  {
    at: '@noble/hashes/',
    folder: dirname(fileURLToPath(import.meta.resolve('@noble/hashes/sha2.js'))),
    /** The package has more; these four are what SHA-2 needs. */
    files: ['_md.js', '_u64.js', 'sha2.js', 'utils.js'],
  },
].map(({ at, folder, files = readdirSync(folder).sort() }) => ({ at, folder, files }));

/**
 * Serves them under `/assets/<digest of them all>/`, so that each may be kept for ever and scripts import each other by their plain names. An address
 * of another build is 404, never this build's content. Returns the address of a file.
 */
async function registerAssets(app: FastifyInstance): Promise<(file: string) => string> {
  const digest = createHash('sha256');
  for (const { at, folder, files } of assetFolders)
    for (const file of files) digest.update(at + file).update(readFileSync(join(folder, file)));
  const prefix = `/assets/${digest.digest('hex').slice(0, 12)}/`;

  for (const { at, folder, files } of assetFolders) {
    const globIgnore = ['*/**/*', `!(${files.join('|')})`];
    const kept = { wildcard: false, immutable: true, maxAge: '365d', globIgnore };
    await app.register(fastifyStatic, { root: folder, prefix: prefix + at, decorateReply: at === '', ...kept });
  }
  const names = assetFolders.flatMap(({ at, files }) => files.map((file) => at + file));
  return (file) => {
    if (!names.includes(file)) throw new Error(`no such asset: ${file}`);
    return prefix + file;
  };
}

/** A QR code as one path of dark squares in a view box of `size` modules, its quiet zone of four modules included. */
function qrCode(text: string): { readonly size: number; readonly path: string } {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size, path };
}

export interface DayFigures {
  /** `2026-11-21`, in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
}

/** A bar of the chart in the units of its view box; `failed` lies on top of `stamped`. */
interface DayBar extends DayFigures {
  readonly x: number;
  readonly width: number;
  readonly stamped: { readonly y: number; readonly height: number };
  readonly rejected: { readonly y: number; readonly height: number };
}

const dayMs = 86_400_000;

/**
 * The bars of the last `length` days that end with the day of `time` (RFC 3339, UTC), oldest first; a day without figures is a day
 * with none. `scale` is what the full height stands for: the busiest day, at least 1.
 */
export function dayBars(
  days: readonly DayFigures[],
  { time, length, width, height }: { time: string; length: number; width: number; height: number },
): { bars: DayBar[]; scale: number } {
  const figures = new Map(days.map((day) => [day.date, day]));
  const today = Date.parse(`${time.slice(0, 10)}T00:00:00Z`);
  const shown = Array.from({ length }, (_, i): DayFigures => {
    const date = new Date(today - (length - 1 - i) * dayMs).toISOString().slice(0, 10);
    return figures.get(date) ?? { date, stamps: 0, failed: 0 };
  });
  const scale = Math.max(1, ...shown.map(({ stamps, failed }) => stamps + failed));
  const step = width / length;
  const round = (value: number): number => Math.round(value * 100) / 100;
  const bars = shown.map((day, i): DayBar => {
    const stampedHeight = round((day.stamps / scale) * height);
    const failedHeight = round((day.failed / scale) * height);
    return {
      ...day,
      x: round(i * step + step * 0.15),
      width: round(step * 0.7),
      stamped: { y: round(height - stampedHeight), height: stampedHeight },
      rejected: { y: round(height - stampedHeight - failedHeight), height: failedHeight },
    };
  });
  return { bars, scale };
}

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with a page of `views/`; its model is checked by the page's name. */
    page<Name extends keyof PageModels>(name: Name, model: PageModels[Name]): FastifyReply;
  }
}

/** Pages by `reply.page`, and their assets. Call it on the root instance: what it decorates must be seen by every route. */
export async function registerViews(app: FastifyInstance, { operator }: { operator: Operator | null }): Promise<void> {
  const assetUrl = await registerAssets(app);
  await app.register(fastifyView, {
    engine: { eta: createViewEngine(assetUrl) },
    root: viewsFolder,
    production: true,
    defaultContext: { dayBars, operator, qrCode },
  });
  app.decorateReply('page', function page(this: FastifyReply, name: keyof PageModels, model: PageModels[keyof PageModels]) {
    // A page shows what is true now; the answer to a challenge is nobody's to keep.
    if (!this.hasHeader('cache-control')) this.header('cache-control', name === 'verify-user' ? 'no-store' : 'no-cache');
    return this.view(`${name}.eta`, model);
  });
}
