declare module '../server/views.ts' {
  interface PageModels {
    readonly docs: DocsPage;
  }
}

/** One operation as the page `/docs` shows it. Descriptions may contain CommonMark `code`. */
export interface DocsOperation {
  readonly id: string;
  readonly method: string;
  /** Contains `{name}` for each parameter. */
  readonly path: string;
  /** The parts of the path, between which a line can break. */
  readonly pathParts: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** A shell command that calls the operation. */
  readonly command: string;
  /** The header for the caller's token, if the operation needs one, and what it holds. */
  readonly token: { readonly header: string; readonly value: string } | null;
  readonly parameters: readonly {
    readonly name: string;
    readonly place: string;
    readonly required: boolean;
    readonly description: string;
    readonly type: string;
    /** The first value of its field. */
    readonly value: string;
  }[];
  readonly body: { readonly schema: string; readonly example: string; readonly rows: number } | null;
  readonly answers: readonly {
    readonly status: string;
    readonly description: string;
    readonly mediaTypes: readonly string[];
    readonly example: string | null;
    readonly isSuccess: boolean;
  }[];
}

export interface DocsPage {
  readonly version: string;
  /** Rules that apply to many operations. */
  readonly guide: readonly {
    readonly id: string;
    readonly title: string;
    readonly paragraphs: readonly string[];
    readonly command: string;
  }[];
  readonly groups: readonly { readonly id: string; readonly name: string; readonly operations: readonly DocsOperation[] }[];
}
