import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A Java program of this folder in a process of its own: one command a line, answered by lines of which the last is `done`. */
export interface JavaProgram {
  /** The lines of the answer, but the last. */
  command(...words: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** @param onAsk answers what the program asks for in between: `ask …` */
export function startJava(
  java: string,
  jars: string,
  source: string,
  onAsk: (question: string) => string = (question) => `nobody knows ${question}`,
): JavaProgram {
  const program = join(import.meta.dirname, source);
  const child: ChildProcessWithoutNullStreams = spawn(java, ['-cp', join(jars, '*'), program]);
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
