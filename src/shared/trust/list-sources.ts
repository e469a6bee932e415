import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { type Config, ConfigError, readJsonSetting, readSetting } from '../runtime/config.ts';
import { isTerritory, readSignersFile } from './lists/index.ts';

type ListConfig = Pick<Config, 'TRUSTED_LIST_URLS' | 'LOTL_SIGNERS_FILE' | 'TRUSTED_LISTS_FILE'>;

/** Where trusted lists come from. */
export interface ListSources {
  /** The EU list of lists, at several addresses: the newest is taken. */
  readonly listOfLists: { readonly addresses: readonly string[]; readonly signers: readonly Uint8Array[] } | undefined;
  readonly lists: readonly ListSource[];
}

/** One list that does not need the list of lists, because its signers are given. */
export interface ListSource {
  readonly territory: string;
  readonly place: { readonly address: string } | { readonly file: string };
  /** DER. */
  readonly signers: readonly Uint8Array[];
}

const mustBeCountry = 'takes the code of a country with a trusted list of the EU, such as SE';

const entry = z
  .strictObject({
    territory: z.string(mustBeCountry).refine(isTerritory, mustBeCountry),
    url: z.url({ protocol: /^https?$/, error: 'takes an address that starts with http:// or https://' }).optional(),
    file: z.string('takes the path of a list').min(1).optional(),
    signers_file: z.string('takes the path of a PEM file with the certificates of the signers').min(1),
  })
  .refine(({ url, file }) => (url === undefined) !== (file === undefined), 'takes either "url" or "file"');

const fileSchema = z
  .array(entry, 'takes a list of entries')
  .min(1, 'takes at least one entry')
  .refine((entries) => new Set(entries.map(({ territory }) => territory)).size === entries.length, 'takes each country once');

export const usesTrustedLists = ({ TRUSTED_LIST_URLS, TRUSTED_LISTS_FILE }: Partial<ListConfig>): boolean =>
  TRUSTED_LIST_URLS !== undefined || TRUSTED_LISTS_FILE !== undefined;

/** Reads the settings for trusted lists. The lists themselves are read by the refresh. @throws ConfigError */
export function loadListSources({ TRUSTED_LIST_URLS: addresses, LOTL_SIGNERS_FILE, TRUSTED_LISTS_FILE }: ListConfig): ListSources {
  if (addresses !== undefined && LOTL_SIGNERS_FILE === undefined) {
    throw new ConfigError('LOTL_SIGNERS_FILE: got nothing; TRUSTED_LIST_URLS needs the certificates that sign the list of lists');
  }
  return {
    listOfLists: addresses && { addresses, signers: readSigners(`LOTL_SIGNERS_FILE: "${LOTL_SIGNERS_FILE}"`, String(LOTL_SIGNERS_FILE)) },
    lists: TRUSTED_LISTS_FILE === undefined ? [] : readListsFile(TRUSTED_LISTS_FILE),
  };
}

function readListsFile(path: string): ListSource[] {
  const entries = readJsonSetting('TRUSTED_LISTS_FILE', path, fileSchema);
  const locate = (file: string) => resolve(dirname(path), file);
  return entries.map(({ territory, url, file, signers_file }) => ({
    territory,
    place: url === undefined ? { file: locate(String(file)) } : { address: url },
    signers: readSigners(`TRUSTED_LISTS_FILE: ${path} (${territory}).signers_file: "${signers_file}"`, locate(signers_file)),
  }));
}

const readSigners = (place: string, path: string): Uint8Array[] => readSetting(place, path, readSignersFile);
