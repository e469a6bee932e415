import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A program of this folder in a process of its own: one command a line, answered by lines of which the last is `done`. */
export interface LineProgram {
  /** The lines of the answer, but the last. */
  command(...words: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

type OnAsk = (question: string) => string;

/** @param onAsk answers what the program asks for in between: `ask …` */
export const startJava = (java: string, jars: string, source: string, onAsk?: OnAsk): LineProgram =>
  startProgram(java, ['-cp', join(jars, '*')], source, { onAsk });

/** @param options stand before the name of the program's file */
export function startProgram(
  command: string,
  options: readonly string[],
  source: string,
  { onAsk = (question) => `nobody knows ${question}`, cwd }: { readonly onAsk?: OnAsk | undefined; readonly cwd?: string } = {},
): LineProgram {
  const program = join(import.meta.dirname, source);
  const child: ChildProcessWithoutNullStreams = spawn(command, [...options, program], { cwd });
  const said: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => void said.push(text));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    command: async (...words) => {
      child.stdin.write(`${words.join(' ')}\n`);
      const answers: string[] = [];
      for (;;) {
        const { value: line, done } = await lines.next();
        if (done) throw new Error(`${source} ended: ${said.join('')}`);
        if (line === 'done') return answers;
        if (line.startsWith('ask ')) child.stdin.write(`${onAsk(line.slice(4))}\n`);
        else answers.push(line);
      }
    },
    close: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

export const base64 = (bytes: Buffer): string => bytes.toString('base64');
