import { extname } from 'node:path';
import { CommandFailure, exitCodes } from './failure.ts';

/** The documented output types by the extension of a file name. */
const extensionsOf: Readonly<Record<string, readonly string[]>> = {
  image: ['avif', 'bmp', 'gif', 'heic', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp'],
  text: ['csv', 'doc', 'docx', 'html', 'json', 'md', 'odt', 'pdf', 'rtf', 'tex', 'txt', 'xml', 'yaml', 'yml'],
  audio: ['aac', 'flac', 'm4a', 'mp3', 'ogg', 'opus', 'wav'],
  video: ['avi', 'm4v', 'mkv', 'mov', 'mp4', 'webm'],
  code: ['c', 'cpp', 'cs', 'css', 'go', 'h', 'java', 'js', 'kt', 'mjs', 'php', 'py', 'rb', 'rs', 'sh', 'sql', 'swift', 'ts', 'tsx'],
  layout: ['ai', 'fig', 'idml', 'indd', 'psd', 'sketch', 'xd'],
};

/** @throws CommandFailure `usage` when the name does not tell */
export function outputTypeOf(path: string): string {
  const extension = extname(path).slice(1).toLowerCase();
  const found = Object.entries(extensionsOf).find(([, extensions]) => extensions.includes(extension))?.[0];
  if (found !== undefined) return found;
  throw new CommandFailure(exitCodes.usage, 'its name does not tell what it is; name the type with --type');
}
