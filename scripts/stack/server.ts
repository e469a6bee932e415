/** A running Redis or MongoDB that tests can really break. Its port and its data stay the same over stop, kill and start. */
export interface StackServer {
  /** Base URL without a database. */
  readonly url: string;
  /** What it is and why it was taken, for people. */
  readonly source: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Ends it and throws away what neither its end nor the removal of `dataDir` does: its container. */
  remove?(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void | Promise<void>;
  resume(): void | Promise<void>;
  onUnexpectedExit(listener: (report: string) => void): void;
}

/** How a server is asked for. */
export interface ServerOptions {
  /** Taken when it is free. */
  readonly preferredPort?: number | undefined;
  /** Beside our own environment, for a server that is a program of this machine. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}
