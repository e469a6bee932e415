import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyView from '@fastify/view';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { encode } from 'uqr';
import { type Language, languageOf, languages } from '../../shared/domain/language.ts';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import { type Words, wordsOf } from '../../shared/views/format.ts';
import type { Operator } from '../../shared/views/operator.ts';

/**
 * The model of each page, by the name of its template. Each capability adds its own pages. Times are RFC 3339 in UTC, hashes are lower-case hex, URLs
 * are relative; the templates format them for people. Models contain nothing secret: no complete e-mail address, no token of a caller, no metadata.
 */
export interface PageModels {
  readonly error: ReturnType<ReturnType<typeof errorPageOf>>;
}

/** The kinds of page with styles of their own, in a file of this name. All other pages have the style sheet `plain`. */
const styledKinds = ['docs', 'start', 'status', 'verify', 'workflow'];

/**
 * Reads the files that browsers may fetch, by their paths below the common prefix of all assets; scripts import each other by these paths. Pages use
 * the same proof code as the service, and the hash functions of an npm package. Each kind of page has one style sheet, made from its parts.
 */
function readAssets(): ReadonlyMap<string, Buffer> {
  const assets = new Map<string, Buffer>();
  const add = (at: string, folder: string, files = readdirSync(folder).sort()) => {
    for (const file of files) assets.set(at + file, readFileSync(join(folder, file)));
  };
  add('', join(viewsFolder, 'assets'));
  add('proof/', fileURLToPath(new URL('../../shared/proof', import.meta.url)));
  add('words/', join(viewsFolder, 'words'));
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
  assets.set('plain.css', Buffer.from(sheetOf()));
  for (const kind of styledKinds) assets.set(`${kind}.css`, Buffer.from(sheetOf(kind)));
  return assets;
}

/** Returns the scripts that a script imports, and those that they import, by the names under which they are served. */
function importedBy(script: string, assets: ReadonlyMap<string, Buffer>, known = new Set<string>()): ReadonlySet<string> {
  for (const [, path = ''] of assets
    .get(script)
    ?.toString()
    .matchAll(/^(?:import|export|\}) .*from '(\.[^']+)';$/gm) ?? []) {
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
    app.get(prefix + name, (_request, reply) =>
      sendAsset(reply.header('cache-control', 'public, max-age=31536000, immutable'), name, text),
    );
  }
  const icon = assets.get('favicon.ico')!;
  app.get('/favicon.ico', (_request, reply) => sendAsset(reply.header('cache-control', 'public, max-age=86400'), 'favicon.ico', icon));
  const urlOf = (file: string): string => {
    if (!assets.has(file)) throw new Error(`there is no asset ${file}`);
    return prefix + file;
  };
  return { urlOf, modulesOf: (script: string): string[] => [...importedBy(script, assets)].map(urlOf) };
}

const typeOfAsset: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  js: 'application/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
};

/** Other sites may show our pictures, beside a link to one of our pages. */
function sendAsset(reply: FastifyReply, name: string, content: Buffer): FastifyReply {
  const ending = name.split('.').at(-1)!;
  if (ending === 'png') reply.header('cross-origin-resource-policy', 'cross-origin');
  return reply.type(typeOfAsset[ending]!).send(content);
}

/** Makes a QR code as one SVG path of dark squares, in a view box of `size` modules. This includes the empty border of four modules. */
function qrCode(text: string): { readonly size: number; readonly path: string } {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size, path };
}

declare module 'fastify' {
  interface FastifyReply extends Record<`view_${Language}`, (template: string, model: object) => FastifyReply> {
    /**
     * Answers with a page of `views/`, in the language that the reader's `Accept-Language` likes best. The type of the model depends on the page's name. A
     * model with sentences of its own is a function of the words.
     */
    page<Name extends keyof PageModels>(name: Name, model: PageModels[Name] | ((words: Words) => PageModels[Name])): FastifyReply;
  }
}

/** Adds `reply.page` and serves the assets. Call it on the root instance, so that every route sees the decorators. */
export async function registerViews(
  app: FastifyInstance,
  { operator, addressOf }: { operator: Operator | null; addressOf: (path: string) => string },
): Promise<void> {
  const assets = registerAssets(app);
  for (const language of languages) {
    await app.register(fastifyView, {
      engine: { eta: createViewEngine(language, assets) },
      root: viewsFolder,
      production: true,
      defaultContext: { operator, qrCode, addressOf },
      propertyName: `view_${language}`,
    });
  }
  app.decorateReply('page', function page(this: FastifyReply, name: keyof PageModels, model: object | ((words: Words) => object)) {
    // A page shows the current state, so caches must ask again each time. The page of verify-user must not be stored at all.
    if (!this.hasHeader('cache-control')) this.header('cache-control', name === 'verify-user' ? 'no-store' : 'no-cache');
    const language = languageOf(this.request.headers['accept-language']);
    const vary = [this.getHeader('vary') ?? [], 'Accept-Language'].flat().join(', ');
    this.header('content-language', language).header('vary', vary);
    return this[`view_${language}`](`${name}.eta`, typeof model === 'function' ? model(wordsOf(language)) : model);
  });
}

interface ErrorFacts {
  readonly status: number;
  /** The same sentence as `detail` in a JSON answer. */
  readonly detail: string;
  /** Null if a later retry does not help. */
  readonly retryAfterSeconds: number | null;
}

/** What the person asked for, by the start of the route's path. */
const lookedFor = [
  ['/workflow/:workflow_id/new-link', 'new_link'],
  ['/workflow/', 'workflow'],
  ['/api/v1/workflow/:workflow_id/verify-user', 'confirmation'],
  ['/c/', 'confirmation'],
  ['/mail/stop/', 'stop'],
  ['/api/v1/verify/v1/token/', 'stamp'],
  ['/api/v1/sealed/', 'content'],
  ['/verify', 'form'],
] as const;
export type LookedFor = (typeof lookedFor)[number][1] | 'page';

/** Answers with an error page (V8). It must not be cached, because an error may be temporary. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: ErrorFacts): FastifyReply {
  const route = request.routeOptions.url ?? '';
  const what = lookedFor.find(([prefix]) => route.startsWith(prefix))?.[1] ?? 'page';
  reply.code(error.status).header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex, nofollow').header('Vary', varyByBrowser);
  return reply.page('error', errorPageOf(what, error, request.id));
}

/** Makes the model of the error page. `isTemporary`: a later retry may help. */
export const errorPageOf = (what: LookedFor, error: ErrorFacts, requestId: string) => (words: Words) => {
  const { status, retryAfterSeconds } = error;
  const [title, ...paragraphs] = errorWordsOf(what, error, words);
  const isTemporary = status >= 500 || status === 429;
  // A sentence for programs, in English, is better than none.
  const detail = paragraphs.length === 0 && status < 500 ? error.detail : null;
  return { title, paragraphs, detail, isTemporary, status, requestId, retryAfterSeconds };
};

type ErrorWords = readonly [title: string, ...paragraphs: string[]];

function errorWordsOf(what: LookedFor, { status }: ErrorFacts, { t }: Words): ErrorWords {
  const cut = t('It may have been mistyped, or cut where a line broke.');
  const cutInMail = t('Some mail programs cut long links in two: please copy all of it from the e-mail into the address bar.');
  const number = t('The number in it is 36 characters long: please check that none got lost on the way.');
  const nowhere = t('This link leads nowhere');
  const nothingToFetch = t('Nothing to fetch here');
  switch (status) {
    case 404:
      switch (what) {
        case 'stamp':
          // An unknown stamp has its own page. Here a file of a stamp is missing.
          return [nothingToFetch];
        case 'workflow':
          return [
            t('No such record'),
            `${t('We have no record under this number.')} ${number}`,
            t('If somebody gave you this address as evidence, it shows nothing. Ask for the full address.'),
          ];
        case 'confirmation':
          return [nowhere, `${t('We have no record under this number.')} ${cutInMail}`, t('Nothing was confirmed.')];
        case 'stop':
          return [nowhere, `${t('Nothing was stopped.')} ${cutInMail}`];
        case 'content':
          return [
            nothingToFetch,
            t('There is no content at this address. The address is a secret that opens one content: please check that it is complete.'),
          ];
        default:
          return [t('No such page'), `${t('There is nothing at this address.')} ${cut}`];
      }
    case 405:
      return [t('Not possible here'), t('This address is for programs and cannot be opened like this.')];
    case 422: {
      if (what === 'form')
        return [
          t('The form is not complete'),
          t('It needs a token in base64 and, optionally, the hash of your file. Please go back and fill it in.'),
        ];
      const words = [t('This address is not complete'), `${t('A part of the address is not valid.')} ${cut}`] as const;
      if (what === 'workflow' || what === 'stamp') return [...words, number];
      if (what !== 'confirmation') return words;
      return [...words, t('Please copy all of the link from the e-mail into the address bar. Nothing was confirmed.')];
    }
    case 429:
      if (what === 'new_link')
        return [
          t('No more links for now'),
          t(
            'Several mails went to this address in a short time. Please open the link in the newest one, and look among unwanted mail too. Later you can ask for a new link.',
          ),
        ];
      return [t('That was too often'), t('Too many requests came from your address in a short time. Please wait a moment.')];
    case 503:
    case 504:
      return [
        t('We cannot answer just now'),
        t('A part of this service does not work at the moment. Nothing was lost. Please come back a little later.'),
      ];
    default:
      if (what === 'new_link' && status === 403)
        return [t('No mail can be sent'), t('The owner of this address has stopped the mails of this service.')];
      return [status < 500 ? t('This cannot be done') : t('Something went wrong on our side')];
  }
}

/** Whether an `Accept` header names exactly this media type, and not with weight 0 (RFC 9110 §12.5.1). */
const names = (accept: string | undefined, type: string): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });

/** The headers that decide between a page and JSON. */
export const varyByBrowser = 'Accept, Sec-Fetch-Mode';

/**
 * Whether a browser asks for a page (V8). Programs get JSON, also those that name `text/html` among other types. With other methods than GET and HEAD,
 * only the forms of our own pages lead to a page.
 */
export function wantsPage({ method, headers, routeOptions }: FastifyRequest): boolean {
  const answers = routeOptions.config?.contract?.answers ?? {};
  const isForm = Object.values(answers).some(({ content }) => content !== undefined && 'text/html' in content);
  if (method !== 'GET' && method !== 'HEAD' && !isForm) return false;
  return headers['sec-fetch-mode'] === 'navigate' || names(headers.accept, 'application/xhtml+xml');
}

/** Whether a client of the link in the mail asks for JSON: its `Accept` names `application/json` and does not take everything (E12). */
export const wantsJson = ({ headers: { accept } }: FastifyRequest): boolean => names(accept, 'application/json') && !names(accept, '*/*');
