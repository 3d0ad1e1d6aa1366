/** The purpose of a project's command. `setup` fetches dependencies; the others check and change no file. */
export const COMMAND_KINDS = ['setup', 'build', 'typecheck', 'lint', 'format', 'test'] as const
export type CommandKind = (typeof COMMAND_KINDS)[number]

/** A detected command of a project. Its words are ours or a known name; none is copied from a file unchecked. */
export interface ProjectCommand {
  kind: CommandKind
  run: string
  /** The directory in which it runs, relative to the project; `.` is the project itself. */
  directory: string
  /** The source of the conclusion: `package.json: scripts.test`. */
  from: string
  /** Whether the project declares it; otherwise it is usual for such a project. */
  declared: boolean
  /** Why a person should check it first: it watches, or it changes files. */
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
  /** The file from which the manager was concluded: a lock file if there is one. */
  manager_from: string
  /** The folders of its workspace. */
  members: string[]
}

/** A file about the project that could not be understood. */
export interface FactProblem {
  file: string
  problem: string
}

/** The detected facts about a project. All of them are guesses until a person agrees. */
export interface ProjectFacts {
  /** How many files were inspected, without dependencies and build output. */
  files: number
  /** Whether there are more folders or files than were inspected. */
  is_cut: boolean
  /** By number of files, most first. */
  languages: { name: string; files: number }[]
  units: ProjectUnit[]
  /** The best command of each kind for each folder, in the order of COMMAND_KINDS. */
  commands: ProjectCommand[]
  /** Top-level folders with source code or tests, with a slash at the end. */
  source_directories: string[]
  git: GitFacts | undefined
  problems: FactProblem[]
}

export interface GitFacts {
  /** The absolute path of the checkout's top directory. */
  top: string
  /** The branch into which work is merged; undefined if unknown. */
  default_branch: string | undefined
  /** The source of that conclusion. */
  branch_from: string | undefined
}
