import { maxMetadataBytes } from '../../shared/contract/fields.ts';
import { maxNesting } from '../server/json-text.ts';

/** What holds for many operations, told once above them; CommonMark. */
export interface GuideSection {
  readonly title: string;
  readonly paragraphs: readonly string[];
}

const count = (number: number): string => number.toLocaleString('en').replaceAll(',', ' ');

export const guide: readonly GuideSection[] = [
  {
    title: 'Authentication',
    paragraphs: [
      'Operations under `/api/v1/internal/`, and `tools/call` of `/mcp`, need the header `X-Service-Token` with a service token, which stands for a product. ' +
        'Stamps are listed by product.',
      'Operations on a workflow need `Authorization: Workflow <token>` with the workflow token that its start answered, once. Agent stamping, ' +
        'verification, health, status and prices need nothing.',
      'A service token or workflow token that is missing or wrong is 401, and `WWW-Authenticate` names the scheme. It is answered before a body that is still on ' +
        'its way is read.',
    ],
  },
  {
    title: 'Idempotency',
    paragraphs: [
      'Every POST that stamps or works on a workflow takes the header `Idempotency-Key`: 1 to 255 printable characters without blanks, ' +
        'best a new UUID for each thing to be done. In `/mcp` it is `_meta.idempotency_key` of the call.',
      'The same caller with the same key and the same body gets the first answer again, with `Idempotent-Replayed: true`; nothing is ' +
        'done twice. The same key with another body is 409. Keys are kept for 24 hours. With a key every request may be sent again after ' +
        '502, 503, 504 or a broken connection.',
    ],
  },
  {
    title: 'Limits',
    paragraphs: [
      'Requests, unless configured otherwise: agent stamping 600 a minute and verification 600 a minute for an address, starts of ' +
        'workflows 5 an hour for an address, stamps 100 a minute for a workflow, the status page 30 a minute for an address. Answers ' +
        'carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`; beyond, 429 with `Retry-After` in seconds.',
      'Sizes: sealed content 10 MiB when decoded, unless configured otherwise; a body with a token to verify 3 MiB; other bodies 1 MiB (413). Metadata ' +
        `${count(maxMetadataBytes)} bytes as UTF-8 JSON, its values nested to ${maxNesting} levels (422). A list shows at most 500 stamps, ` +
        'from an offset of at most 100 000. A batch of `/mcp` holds at most 100 messages.',
    ],
  },
  {
    title: 'Errors',
    paragraphs: [
      '422 says what is wrong with a request: `detail` is a list, each item with `loc`, `msg` and `type`. Every other error is ' +
        '`{"detail", "code", "request_id"}`: a sentence for people, a word for programs that never changes its meaning, and the name of the ' +
        'request in our logs.',
      '502: no provider could make the stamp, and nothing was made. 503: nothing was accepted; come back after `Retry-After` seconds. ' +
        '504: accepted and not finished in time; the answer names `token_id` and `verify_url`, where the stamp becomes readable.',
    ],
  },
];
