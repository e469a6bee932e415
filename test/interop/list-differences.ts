/** Why our reader and the strangers judge a file differently, by the name of the file. */
export const explained: Readonly<Record<string, string>> = {};
