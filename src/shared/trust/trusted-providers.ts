import { readFileSync } from 'node:fs';
import { mockProviderName } from '../domain/mock-token.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError, type TrustStore } from '../rfc3161/index.ts';
import { ConfigError, type ProviderConfig } from '../runtime/config.ts';
import { usesTrustedLists } from './list-sources.ts';
import { loadProvidersFile, type ProviderSettings } from './providers-file.ts';

/** A configured provider with its trust store. */
export interface TrustedProvider {
  readonly settings: ProviderSettings;
  readonly trust: TrustStore;
}

/** Everything needed to judge RFC 3161 tokens. */
export interface TrustSettings {
  /** In order of preference; empty with the mock provider. */
  readonly providers: readonly TrustedProvider[];
  /**
   * The trust store from `TRUST_ANCHORS_FILE`. It is used for tokens without a record, and for stamps of providers that are not configured any more.
   * Without this file, it trusts no token.
   */
  readonly extraTrust: TrustStore;
}

function storeOf<T>(place: string, create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw new ConfigError(`${place}: ${error instanceof Error ? error.message : error}`);
  }
}

function readPem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError(`${setting}: got "${file}"; it cannot be read`);
  }
}

/** Throws if in production the entry of a key says nothing about its clock. Signing with an unchecked clock must be configured explicitly. */
function refuseUncheckedClocks({ NODE_ENV, TSP_PROVIDERS_FILE: file }: ProviderConfig, settings: readonly ProviderSettings[]): void {
  const blind = NODE_ENV === 'production' && settings.find((one) => one.type === 'key' && one.clock === undefined);
  if (!blind) return;
  throw new ConfigError(
    `TSP_PROVIDERS_FILE: ${file} (${blind.name}).clock: got nothing; production takes {"ntp": ["…"]}, or "unchecked" if set explicitly`,
  );
}

/** Throws if a provider is qualified only by a trusted list and no list is configured: no stamp of it could ever be qualified. */
function refuseMissingLists(config: ProviderConfig, settings: readonly ProviderSettings[]): void {
  const unlisted = usesTrustedLists(config) ? undefined : settings.find(({ qualified }) => qualified === 'from_list');
  if (!unlisted) return;
  throw new ConfigError(
    `TSP_PROVIDERS_FILE: ${config.TSP_PROVIDERS_FILE} (${unlisted.name}).qualified: got "from_list"; that needs TRUSTED_LIST_URLS or TRUSTED_LISTS_FILE`,
  );
}

/** Reads the trust settings of this installation. @throws ConfigError for a file that cannot be read or has no certificate */
export function loadTrustSettings(config: ProviderConfig): TrustSettings {
  const settings = config.TSP_PROVIDERS_FILE && config.TSP !== 'mock' ? loadProvidersFile(config.TSP_PROVIDERS_FILE) : [];
  refuseUncheckedClocks(config, settings);
  refuseMissingLists(config, settings);
  const { TRUST_ANCHORS_FILE: anchorsFile, INTERMEDIATES_FILE: intermediatesFile } = config;
  const shared = intermediatesFile === undefined ? [] : [readPem('INTERMEDIATES_FILE', intermediatesFile)];
  if (intermediatesFile !== undefined)
    storeOf(`INTERMEDIATES_FILE: got "${intermediatesFile}"`, () => createTrustStore({ anchors: [], intermediates: shared }));
  const anchors = anchorsFile === undefined ? [] : [readPem('TRUST_ANCHORS_FILE', anchorsFile)];
  const known = [
    ...shared,
    ...settings.flatMap(({ intermediatesPem, trustAnchorsPem }) => [intermediatesPem ?? [], trustAnchorsPem].flat()),
  ];
  const build = (own: TrustMaterial): TrustStore => createTrustStore(withListsOf(settings, { ...own, intermediates: known }));
  return {
    providers: settings.map((provider) => ({
      settings: provider,
      trust: storeOf(`TSP_PROVIDERS_FILE: ${config.TSP_PROVIDERS_FILE} (${provider.name})`, () =>
        build({ anchors: [provider.trustAnchorsPem], crls: provider.crl === undefined ? [] : [provider.crl] }),
      ),
    })),
    extraTrust: storeOf(`TRUST_ANCHORS_FILE: got "${anchorsFile}"`, () =>
      build({ anchors, areCaPurposesIgnored: config.IGNORE_CA_PURPOSES }),
    ),
  };
}

/**
 * Adds the revocation lists of all providers: a list is signed by its CA, so it is correct whoever configured it. Leaves out lists that do not fit
 * the certificates, such as those of another CA with the same name.
 */
function withListsOf(settings: readonly ProviderSettings[], own: TrustMaterial): TrustMaterial {
  const { crls = [] } = own;
  const others = settings.flatMap(({ crl }) => (crl === undefined || crls.includes(crl) ? [] : [crl]));
  const fitting = others.filter((crl) => {
    try {
      createTrustStore({ ...own, crls: [crl] });
      return true;
    } catch (error) {
      if (error instanceof TrustMaterialError) return false;
      throw error;
    }
  });
  return { ...own, crls: [...crls, ...fitting] };
}

/** The configured providers, most preferred first, or the mock provider if none is configured. `isQualified`: whether they may be. */
export const namesOf = ({ providers }: TrustSettings): { name: string; isQualified: boolean }[] =>
  providers.length > 0
    ? providers.map(({ settings: { name, qualified } }) => ({ name, isQualified: qualified !== false }))
    : [{ name: mockProviderName, isQualified: false }];

/** Returns true if any configured provider may be qualified. If none is, a stamp that must be qualified can never be made (W19). */
export const canServeQualified = ({ providers }: TrustSettings): boolean => providers.some(({ settings }) => settings.qualified !== false);
