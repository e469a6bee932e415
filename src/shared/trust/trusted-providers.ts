import type { z } from 'zod';
import { mockProviderName } from '../domain/mock-token.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError, type TrustStore } from '../rfc3161/index.ts';
import { ConfigError, readSetting, settingsSchema } from '../runtime/config.ts';
import { usesTrustedLists } from './list-sources.ts';
import { loadProvidersFile, type ProviderSettings } from './providers-file.ts';

export const trustSettingsSchema = settingsSchema.pick({
  NODE_ENV: true,
  TSP: true,
  TSP_PROVIDERS_FILE: true,
  TRUST_ANCHORS_FILE: true,
  INTERMEDIATES_FILE: true,
  IGNORE_CA_PURPOSES: true,
  TRUSTED_LIST_URLS: true,
  TRUSTED_LISTS_FILE: true,
});

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

/** Reads the trust settings of this installation. @throws ConfigError for a file that cannot be read or has no certificate */
export function loadTrustSettings(config: Partial<z.output<typeof trustSettingsSchema>>): TrustSettings {
  const { TSP = 'mock', TSP_PROVIDERS_FILE: file, TRUST_ANCHORS_FILE: anchorsFile, INTERMEDIATES_FILE: intermediatesFile } = config;
  if (TSP !== 'mock' && !file) throw new ConfigError(`TSP_PROVIDERS_FILE: got nothing; TSP=${TSP} takes the path of the providers file`);
  const settings = TSP !== 'mock' && file ? loadProvidersFile(file) : [];
  // Signing with an unchecked clock must be configured explicitly.
  const blind = config.NODE_ENV === 'production' && settings.find((one) => one.type === 'key' && one.clock === undefined);
  if (blind) {
    const takes = 'production takes {"ntp": ["…"]}, or "unchecked" if set explicitly';
    throw new ConfigError(`TSP_PROVIDERS_FILE: ${file} (${blind.name}).clock: got nothing; ${takes}`);
  }
  // No stamp of such a provider could ever be qualified.
  const unlisted = usesTrustedLists(config) ? undefined : settings.find(({ qualified }) => qualified === 'from_list');
  if (unlisted) {
    const needs = 'that needs TRUSTED_LIST_URLS or TRUSTED_LISTS_FILE';
    throw new ConfigError(`TSP_PROVIDERS_FILE: ${file} (${unlisted.name}).qualified: got "from_list"; ${needs}`);
  }
  const known = settings.flatMap(({ intermediatesPem, trustAnchorsPem }) => [intermediatesPem ?? [], trustAnchorsPem].flat());
  if (intermediatesFile !== undefined) {
    const shared = readSetting(`INTERMEDIATES_FILE: got "${intermediatesFile}"; it`, intermediatesFile, (pem) => {
      createTrustStore({ anchors: [], intermediates: [pem.toString('utf8')] });
      return pem.toString('utf8');
    });
    known.unshift(shared);
  }
  const build = (own: TrustMaterial): TrustStore => createTrustStore(withListsOf(settings, { ...own, intermediates: known }));
  const buildExtra = (anchors: readonly string[]) => build({ anchors, areCaPurposesIgnored: config.IGNORE_CA_PURPOSES ?? false });
  return {
    providers: settings.map((provider) => {
      try {
        return { settings: provider, trust: build({ anchors: [provider.trustAnchorsPem], crls: provider.crl ? [provider.crl] : [] }) };
      } catch (error) {
        throw new ConfigError(`TSP_PROVIDERS_FILE: ${file} (${provider.name}): ${error instanceof Error ? error.message : error}`);
      }
    }),
    extraTrust:
      anchorsFile === undefined
        ? buildExtra([])
        : readSetting(`TRUST_ANCHORS_FILE: got "${anchorsFile}"; it`, anchorsFile, (pem) => buildExtra([pem.toString('utf8')])),
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
