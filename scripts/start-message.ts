import { relative } from 'node:path';
import { checkoutDir, localDir } from './stack/context.ts';
import type { Stack } from './stack/stack.ts';

const providers: Readonly<Record<string, string>> = {
  mock: 'mock (test stamps: they prove nothing to a third party)',
  local: 'the development TSA (real RFC 3161 tokens, not qualified)',
  file: 'from TSP_PROVIDERS_FILE',
};

export interface ServiceFacts {
  readonly url: string;
  readonly stack: Stack;
  /** The development service token; undefined if SERVICE_TOKENS is set, because its secrets are not printed. */
  readonly token: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** A shell command that stamps a real file, shows the stamp, and verifies it at its `verify_url`. */
function stampLine(url: string, token: string): string {
  const hash = `{\\"hash\\":\\"$(sha256sum README.md | cut -c1-64)\\"}`;
  const stamp = `curl -sS ${url}/api/v1/internal/v1/stamp -H 'X-Service-Token: ${token}' -H 'Content-Type: application/json' -d "${hash}"`;
  const verify = `curl -sS ${url}$(echo "$stamp" | grep -o '/api/v1/verify/v1/token/[0-9a-f-]*')`;
  return `${stamp} | { read -r stamp; echo "$stamp"; ${verify}; echo; }`;
}

/** A URL without its user and password. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

/** The message that the user gets when everything runs. */
export function describeService({ url, stack, token, env }: ServiceFacts): string {
  const redis = stack.servers.redis ? `, ${withoutPassword(stack.redisUrl)}` : '';
  const mongo = stack.servers.mongo ? `, ${withoutPassword(stack.mongoUrl)}` : '';
  return `
qstamp is up: ${url}

  Redis          ${stack.redisSource}${redis}
  MongoDB        ${stack.mongoSource}${mongo}
  Provider       ${providers[env.TSP || 'mock'] ?? env.TSP}
  Service token  ${token ?? 'from SERVICE_TOKENS'}
  Mail           ${env.SMTP_URL?.startsWith('smtp://127.0.0.1') ? 'caught here: mailed links are printed' : 'from SMTP_URL'}
  Data and logs  ${relative(checkoutDir, localDir)}/, and they stay

Stamp README.md and verify the stamp:

  ${stampLine(url, token ?? 'YOUR-SERVICE-TOKEN')}

Any other stamp is verified by GET ${url}/api/v1/verify/v1/token/<token_id>. Ctrl-C stops everything.
`;
}
