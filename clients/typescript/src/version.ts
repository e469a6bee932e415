/** The version of this package. */
export const version = '0.3.0';
