import { systemClock } from '../shared/runtime/clock.ts';
import { loadProviderConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { checkProvider, openTsas, type ProviderCheck, type Rfc3161Provider } from '../workers/providers/index.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp check-providers: asks each configured provider for one stamp, and does not store it

  --json    one line of JSON for each provider
  --help

The settings are those of the service: TSP, TSP_PROVIDERS_FILE. Exit codes: 0 all providers answer, 1 one fails, 2 usage or settings.
`;

async function ask(tsa: Rfc3161Provider): Promise<ProviderCheck> {
  const stamp: Parameters<typeof checkProvider>[0]['stamp'] = (subject) => tsa.stamp(subject, AbortSignal.timeout(tsa.timeoutMs));
  const check = await checkProvider({ ...tsa, stamp }, systemClock);
  tsa.close();
  return check;
}

function clockOf({ clock, clockDifferenceMs: differenceMs }: ProviderCheck): string | null {
  if (clock === 'unchecked') return 'ours, unchecked';
  const [whose, other] = clock ? ['ours, ', 'that of others'] : ['', 'ours'];
  if (differenceMs === null) return clock ? 'ours, and nothing confirms it' : null;
  if (differenceMs === 0) return `${whose}as ${other}`;
  return `${whose}${Math.abs(differenceMs)} ms ${differenceMs > 0 ? 'ahead of' : 'behind'} ${other}`;
}

function linesOf(check: ProviderCheck): string {
  const { provider, isQualified, verdict, fault, latencyMs, certificate, policy } = check;
  const facts = {
    certificate: certificate && `${certificate.subject}, valid until ${certificate.validUntil}`,
    policy,
    clock: clockOf(check),
    latency: `${latencyMs} ms`,
    qualified: verdict === 'failed' ? 'not verified' : isQualified ? 'as configured' : 'no',
  };
  const shown = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(12)}${value}\n`]));
  return `${provider}: ${fault === null ? verdict : `${verdict}: ${fault}`}\n${shown.join('')}`;
}

const jsonOf = ({
  provider,
  isQualified,
  verdict,
  fault,
  latencyMs,
  certificate,
  policy,
  clockDifferenceMs,
  clock,
}: ProviderCheck): string =>
  `${JSON.stringify({
    provider,
    is_qualified: isQualified,
    verdict,
    fault,
    certificate: certificate && { subject: certificate.subject, valid_until: certificate.validUntil },
    policy,
    clock_difference_ms: clockDifferenceMs,
    latency_ms: latencyMs,
    ...(clock && { clock }),
  })}\n`;

/** Runs `qstamp check-providers`. Resolves with the exit code. */
export const checkProviders = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands, json, all }) => {
    if (operands.length > 0 || all) throw new UsageError('check-providers takes no operand');
    const { environment, stdout, stderr } = command;
    const { providers } = loadTrustSettings(loadProviderConfig(environment));
    if (providers.length === 0) stderr.write('TSP is mock: the workers make its stamps themselves, so there is no provider to ask\n');
    const tsas = await openTsas(providers, { clock: systemClock, log: createLogger({ level: 'silent', process: 'worker' }) });
    const checks = await Promise.all(tsas.map(ask));
    for (const check of checks) stdout.write(json ? jsonOf(check) : linesOf(check));
    return checks.every(({ verdict }) => verdict === 'ok') ? 0 : 1;
  });
