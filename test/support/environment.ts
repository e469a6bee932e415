/** All that a process which a test starts gets to know of the environment, beside what the test says. */
export const inherited = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
