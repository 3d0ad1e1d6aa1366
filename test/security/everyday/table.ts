/** One everyday command and what must come of it. */
export interface Row {
  /** What somebody does with it. */
  name: string
  /** The argument of `sh -c`. */
  run: string
  /** Programs without which the row cannot be run here. */
  needs?: string[]
  /** Not to be run by root: the program refuses it by itself. */
  notAsRoot?: true
  /** A pattern of its output. */
  prints?: RegExp
  /** A pattern that its output must not have. */
  never?: RegExp
  /** Its exit code: 0 unless it is a refusal. */
  exit?: number
}

/** Rows that run one after the other in one project, each in a sandbox of its own. */
export interface Group {
  name: string
  /** The files that the project has at first; they are in its first commit. */
  files: Record<string, string>
  rows: Row[]
  /** The name of the project's folder. */
  folder?: string
  /** Where the project is, and the home: apart from one another in ordinary folders, if absent. */
  at?: 'home behind a link' | 'in the home' | 'in the home behind a link' | 'another mount'
  /** The commands run in a worktree of the project. */
  inWorktree?: true
}

/** `$(…)`-free shell text that waits up to ten seconds for a file. */
export const waitFor = (file: string) =>
  `n=0; while [ ! -s ${file} ] && [ $n -lt 200 ]; do n=$((n+1)); sleep 0.05; done; [ -s ${file} ]`
