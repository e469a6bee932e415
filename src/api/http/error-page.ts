import type { FastifyReply, FastifyRequest } from 'fastify';
import { varyByBrowser } from './accept.ts';

interface ErrorFacts {
  readonly status: number;
  /** The same sentence as `detail` in a JSON answer. */
  readonly detail: string;
  /** Null if a later retry does not help. */
  readonly retryAfterSeconds: number | null;
}

/** What the person asked for, by the start of the route's path. */
const lookedFor = [
  ['/workflow/', 'workflow'],
  ['/api/v1/workflow/:workflow_id/verify-user', 'confirmation'],
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
export function errorPageOf(what: LookedFor, error: ErrorFacts, requestId: string) {
  const { status, retryAfterSeconds } = error;
  const [title, ...paragraphs] = wordsOf(what, error);
  return { title, paragraphs, isTemporary: status >= 500 || status === 429, status, requestId, retryAfterSeconds };
}

type Words = readonly [title: string, ...paragraphs: string[]];

function wordsOf(what: LookedFor, { status, detail }: ErrorFacts): Words {
  switch (status) {
    case 404:
      return missing(what, detail);
    case 405:
      return ['Not possible here', 'This address is for programs and cannot be opened like this.'];
    case 422:
      return incomplete(what);
    case 429:
      return ['That was too often', 'Too many requests came from your address in a short time. Please wait a moment.'];
    case 503:
    case 504:
      return [
        'We cannot answer just now',
        'A part of this service does not work at the moment. Nothing was lost. Please come back a little later.',
      ];
    default:
      return [status < 500 ? 'This cannot be done' : 'Something went wrong on our side', detail];
  }
}

const cut = 'It may have been mistyped, or cut where a line broke.';
const cutInMail = 'Some mail programs cut long links in two: please copy all of it from the e-mail into the address bar.';
const number = 'The number in it is 36 characters long: please check that none got lost on the way.';

function missing(what: LookedFor, detail: string): Words {
  switch (what) {
    case 'workflow':
      return [
        'No such workflow',
        `We have no record under this number. ${number}`,
        'If somebody gave you this address as evidence, it shows nothing. Ask for the full address.',
      ];
    case 'confirmation':
      return ['This link leads nowhere', `We have no workflow under this number. ${cutInMail}`, 'Nothing was confirmed.'];
    case 'stop':
      return ['This link leads nowhere', `Nothing was stopped. ${cutInMail}`];
    // An unknown stamp has its own page. Here a file of a stamp is missing.
    case 'stamp':
      return ['Nothing to fetch here', detail];
    case 'content':
      return [
        'Nothing to fetch here',
        'There is no content at this address. The address is a secret that opens one content: please check that it is complete.',
      ];
    default:
      return ['No such page', `There is nothing at this address. ${cut}`];
  }
}

function incomplete(what: LookedFor): Words {
  const title = 'This address is not complete';
  const isInvalid = `A part of the address is not valid. ${cut}`;
  switch (what) {
    case 'form':
      return [
        'The form is not complete',
        'It needs a token in base64 and, optionally, the hash of your file. Please go back and fill it in.',
      ];
    case 'workflow':
    case 'stamp':
      return [title, isInvalid, number];
    case 'confirmation':
      return [title, isInvalid, 'Please copy all of the link from the e-mail into the address bar. Nothing was confirmed.'];
    default:
      return [title, isInvalid];
  }
}
