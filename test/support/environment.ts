const { PATH, NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE } = process.env;

/** All that a process which a test starts gets to know of the environment, beside what the test says. */
export const inherited = { PATH, NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE };
