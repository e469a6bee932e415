import { readFileSync } from 'node:fs';
import { ConfigError } from '../../shared/runtime/config.ts';
import type { TsaSettings } from '../../shared/trust/providers-file.ts';

/** How a worker authenticates to a TSA: headers of each request, or a TLS certificate. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
}

/**
 * Reads the secrets of a provider from the files in its entry.
 *
 * @throws ConfigError that names the provider and the member if a file cannot be read
 */
export function readCredentials({ name, auth }: TsaSettings): Credentials {
  const secret = (file: string, member: string): string => {
    try {
      return readFileSync(file, 'utf8').trim();
    } catch {
      throw new ConfigError(`TSP_PROVIDERS_FILE: (${name}).auth.${member}: "${file}" cannot be read`);
    }
  };
  switch (auth.type) {
    case 'none':
      return { headers: {}, clientCertificate: undefined };
    case 'basic': {
      const password = secret(auth.passwordFile, 'password_file');
      const authorization = `Basic ${Buffer.from(`${auth.username}:${password}`).toString('base64')}`;
      return { headers: { authorization }, clientCertificate: undefined };
    }
    case 'bearer':
      return { headers: { authorization: `Bearer ${secret(auth.tokenFile, 'token_file')}` }, clientCertificate: undefined };
    case 'client_certificate': {
      const cert = secret(auth.certificateFile, 'certificate_file');
      return { headers: {}, clientCertificate: { cert, key: secret(auth.keyFile, 'key_file') } };
    }
  }
}
