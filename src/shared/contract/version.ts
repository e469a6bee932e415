import packageJson from '../../../package.json' with { type: 'json' };

/** The version of the interface: `info.version` of the OpenAPI document. */
export const interfaceVersion = '0.2.0';

export const version: string = packageJson.version;
