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
  /** Whether we catch the mails, because no mail server is configured. */
  readonly isMailCaught: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** How the command verifies a stamp of each provider. */
const verifyOptions: Readonly<Record<string, string>> = { mock: '--online', local: `--ca ${relative(checkoutDir, localDir)}/tsa/root.pem` };

/** A URL without its user and password. */
function withoutPassword(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

/** The message that the user gets when everything runs. */
export function describeService({ url, stack, token, isMailCaught, env }: ServiceFacts): string {
  const redis = stack.servers.redis ? `, ${withoutPassword(stack.redisUrl)}` : '';
  const provider = env.TSP || 'mock';
  const mongo = stack.servers.mongo ? `, ${withoutPassword(stack.mongoUrl)}` : '';
  return `
qstamp is up: ${url}

  Redis          ${stack.redisSource}${redis}
  MongoDB        ${stack.mongoSource}${mongo}
  Provider       ${providers[provider] ?? provider}
  Service token  ${token ?? 'from SERVICE_TOKENS'}
  Mail           ${isMailCaught ? 'caught here: mailed links are printed' : 'from SMTP_URL'}
  Data and logs  ${relative(checkoutDir, localDir)}/, and they stay

Stamp a file and verify the stamp, in another terminal:

  export QSTAMP_URL=${url}
  bin/qstamp.mjs stamp README.md
  bin/qstamp.mjs verify README.md ${verifyOptions[provider] ?? '--ca ROOT-OF-YOUR-TSA.pem'}

${url}/docs shows every operation and lets you try it. Ctrl-C stops everything.
`;
}
