const { PATH, NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE } = process.env;

/** The whole environment of a process started by a test, except the settings of the test. */
export const inherited = { PATH, NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE };
