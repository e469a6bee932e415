/** Longer names say more than a name. */
const mostCharacters = 60;

/**
 * What an agent calls itself, fit to be quoted in a mail of ours: anybody may start a workflow with anybody's address, and must not put
 * a link or lines of their own into it. One short line of letters, digits and a few marks is left; a full stop stays before a digit
 * only, because mail programs make links of `word.word`. Empty where nothing is left.
 */
export function agentNameOf(agentId: string): string {
  const words = agentId
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M} ._\-/+#()]/gu, ' ')
    .replace(/\.(?!\p{N})/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...words];
  return characters.length > mostCharacters ? `${characters.slice(0, mostCharacters).join('')}…` : words;
}
