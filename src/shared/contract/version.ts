import packageJson from '../../../package.json' with { type: 'json' };

/** The version of the API and of the service. */
export const version: string = packageJson.version;
