/** What `agents.sandbox` may say, loosest first. */
export const SANDBOX_MODES = ['off', 'auto', 'required'] as const
export type SandboxMode = (typeof SANDBOX_MODES)[number]

/** The program that makes sandboxes on this machine. */
export interface SandboxProgram {
  program: string
  version: string
}

/** What the settings say of the sandbox of one session. */
export interface SandboxAsked {
  mode: SandboxMode
  /** What it is made with, where that was found out: the session was let in because of it, and there is no start without it. */
  made?: SandboxProgram | undefined
  /** Hosts that may be reached beside the vendor's own; `*` leaves the network as it is. */
  network: string[]
  /** Paths that are shown, though they lie in the home directory. */
  read: string[]
  /** Paths that may be written beside the project. */
  write: string[]
  /** Directories of which nothing is shown: they hold what no agent needs. */
  hidden: string[]
  /** The repository of the project, where there is one. */
  git?: { top: string; own: string; common: string } | undefined
}

/** What one kind of agent needs in a sandbox. */
export interface SandboxNeeds {
  /** Where it keeps its own login and conversations, in the home directory. */
  state: string[]
  /** The variable that moves what is meant by the home directory, if one does. */
  movedBy?: string
  /** What of that it may not write, with the text of an empty one, or nothing for a folder: it would be run by the person's next one. */
  kept?: Record<string, string | null>
  /** Hosts of its vendor. */
  hosts: string[]
  /** Variables that may hold another address of the vendor: its host may be reached then. */
  addresses: string[]
}
