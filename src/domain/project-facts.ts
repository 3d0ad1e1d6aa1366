/** What a command of a project is for. `setup` fetches dependencies; the others check, and change no file. */
export const COMMAND_KINDS = ['setup', 'build', 'typecheck', 'lint', 'format', 'test'] as const
export type CommandKind = (typeof COMMAND_KINDS)[number]

/** One command that a project was found to have. Its words are ours or a known name: none is taken from a file as it stands. */
export interface ProjectCommand {
  kind: CommandKind
  run: string
  /** Where it is run, relative to the project; `.` is the project itself. */
  directory: string
  /** What it was concluded from: `package.json: scripts.test`. */
  from: string
  /** The project names it itself; otherwise it is what is usual for such a project. */
  declared: boolean
  /** Why a person should look at it first: it watches, it changes files. */
  caution?: string
}

/** A folder that is built and tested by itself, in one ecosystem. */
export interface ProjectUnit {
  /** Relative to the project; `.` is the project itself. */
  directory: string
  /** `node`, `python`, `rust` … */
  ecosystem: string
  /** `pnpm`, `uv`, `cargo` … */
  manager: string
  /** The file that decided it: a lock file where there is one. */
  manager_from: string
  /** Folders that belong to its workspace. */
  members: string[]
}

/** A file that says something about the project and could not be understood. */
export interface FactProblem {
  file: string
  problem: string
}

/** What a project is found to be. Everything is a guess until a person agrees to it. */
export interface ProjectFacts {
  /** How many files were looked at, dependencies and what is built left out. */
  files: number
  /** There are more folders or files than were looked at. */
  is_cut: boolean
  /** By number of files, most first. */
  languages: { name: string; files: number }[]
  units: ProjectUnit[]
  /** The best of each kind for each folder, in the order of COMMAND_KINDS. */
  commands: ProjectCommand[]
  /** Folders at the top that hold source code or tests, with a slash at the end. */
  source_directories: string[]
  git: GitFacts | undefined
  problems: FactProblem[]
}

export interface GitFacts {
  /** Top of the checkout, an absolute path. */
  top: string
  /** The branch that work is merged into; undefined where that cannot be told. */
  default_branch: string | undefined
  /** What it was concluded from. */
  branch_from: string | undefined
}
