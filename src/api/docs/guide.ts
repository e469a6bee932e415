import { maxMetadataBytes } from '../../shared/contract/fields.ts';
import { maxNesting } from '../http/json-text.ts';
import { curlOf, withVariables } from './curl.ts';
import { examples } from './examples.ts';

/** Rules that apply to many operations, in CommonMark. The document shows them once, above the operations. */
interface GuideSection {
  readonly title: string;
  readonly paragraphs: readonly string[];
  /** Shell commands that show it, only for the page. */
  readonly commandAt: (baseUrl: string) => string;
}

const count = (number: number): string => number.toLocaleString('en').replaceAll(',', ' ');

const stampPath = '/api/v1/agent/v1/stamp/basic';
const json = { hash: examples.hash };

/** The section of the page with which a reader starts. */
export const firstSteps: GuideSection = {
  title: 'First steps',
  paragraphs: [
    'All commands of this page run in a shell with `curl`. These stamp a hash, here the SHA-256 of `hello`, and then verify the stamp. Other commands begin with ' +
      'lines that set variables, such as `SERVICE_TOKEN`: put your own values there.',
    'Stamps and verdicts have a few fixed fields. With `?details=true`, or the header `Prefer: return=details`, they also say who calls a stamp ' +
      'qualified, who signed it, and what was not checked.',
  ],
  commandAt: (baseUrl) =>
    [
      curlOf({ method: 'POST', address: `${baseUrl}${stampPath}`, options: ['-s', '-o', 'stamp.json'], json }),
      `TOKEN_ID=$(sed 's/.*"token_id":"\\([^"]*\\).*/\\1/' stamp.json)`,
      curlOf({ address: `${baseUrl}/api/v1/verify/v1/token/$TOKEN_ID` }),
    ].join('\n'),
};

export const guide: readonly GuideSection[] = [
  {
    title: 'Authentication',
    paragraphs: [
      'Operations under `/api/v1/internal/`, and all tools of `/mcp`, need the header `X-Service-Token` with a service ' +
        'token. The token identifies a product. Each product can list its stamps.',
      'Operations on a workflow need `Authorization: Workflow <token>`. Only the answer to the start of the workflow contains this token. Agent stamping, ' +
        'verification, health, status and prices need no token.',
      'If a service token or workflow token is missing or wrong, the answer is 401 and `WWW-Authenticate` names the scheme. The service does not wait for a body ' +
        'that is still on its way.',
    ],
    commandAt: (baseUrl) =>
      withVariables(curlOf({ address: `${baseUrl}/api/v1/internal/v1/stamps?limit=1`, headers: { 'X-Service-Token': '$SERVICE_TOKEN' } })),
  },
  {
    title: 'Idempotency',
    paragraphs: [
      'Every POST that stamps or works on a workflow takes the header `Idempotency-Key`: 1 to 255 printable characters without blanks, ' +
        'preferably a new UUID for each task. Without a service token or workflow token, it has at least 16. In `/mcp` it is `_meta.idempotency_key` of the call.',
      'If the same caller sends the same key and the same body, it gets the first answer again, with `Idempotent-Replayed: true`, and nothing is ' +
        'done twice. The same key with another body is 409. Keys are kept for 24 hours. A request with a key may be sent again after ' +
        '502, 503, 504 or a broken connection.',
    ],
    commandAt: (baseUrl) => {
      const request = { method: 'POST', address: `${baseUrl}${stampPath}`, headers: { 'Idempotency-Key': '$KEY' }, json };
      return [`KEY=example-$(date +%s)-$RANDOM`, curlOf(request), curlOf({ ...request, options: ['-i'] })].join('\n');
    },
  },
  {
    title: 'Limits',
    paragraphs: [
      'Requests, by default: each address may send 600 requests a minute for agent stamping and 600 for verification, start 5 ' +
        'workflows an hour and read the status page 30 times a minute. Each workflow may have 100 stamps a minute. Answers ' +
        'carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. Beyond the limit: 429 with `Retry-After` in seconds.',
      'Sizes: sealed content 10 MiB when decoded, by default; a body with a token to verify 3 MiB; a batch 6 MiB; other bodies 64 KiB (413). Metadata ' +
        `${count(maxMetadataBytes)} bytes as UTF-8 JSON, with values nested up to ${maxNesting} levels (422). A list shows at most 500 stamps, ` +
        'from an offset of at most 100 000. A batch of `/mcp` holds at most 100 messages.',
    ],
    commandAt: (baseUrl) => curlOf({ method: 'POST', address: `${baseUrl}${stampPath}`, options: ['-i'], json }),
  },
  {
    title: 'Errors',
    paragraphs: [
      '422 says what is wrong with a request: `detail` is a list, each item with `loc`, `msg` and `type`. Every other error is ' +
        '`{"detail", "code", "request_id"}`: a sentence for people, a word for programs that never changes its meaning, and the id of the ' +
        'request in our logs.',
      '502: no provider could make the stamp, and nothing was made. 503: nothing was accepted; come back after `Retry-After` seconds. ' +
        '504: accepted and not finished in time; the answer contains `token_id` and `verify_url`, where the stamp becomes readable.',
    ],
    commandAt: (baseUrl) => curlOf({ method: 'POST', address: `${baseUrl}${stampPath}`, json: { hash: 'abc' } }),
  },
];
