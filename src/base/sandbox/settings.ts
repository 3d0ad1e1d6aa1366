/** The values of `agents.sandbox`, loosest first. */
export const SANDBOX_MODES = ['off', 'auto', 'required'] as const
export type SandboxMode = (typeof SANDBOX_MODES)[number]

/** The program that makes sandboxes on this machine. */
export interface SandboxProgram {
  program: string
  version: string
  /** What it is, if it is not bubblewrap. */
  kind?: 'seatbelt'
}

/** The sandbox settings of one session, or of the commands of one project. */
export interface SandboxSettings {
  mode: SandboxMode
  /** The program that makes the sandbox, if it was found. The session was admitted because of it and does not start without it. */
  made?: SandboxProgram | undefined
  /** Hosts that may be reached in addition to the vendor's; `*` leaves the network unrestricted. */
  network: string[]
  /** Paths in the home directory that are visible nevertheless. */
  read: string[]
  /** Paths outside the project that may be written. */
  write: string[]
  /** Folders of the project that are read-only, because pcc itself runs from them. */
  kept?: string[] | undefined
  /** Directories that are hidden completely, because no agent needs them. */
  hidden: string[]
  /** The repository of the project, if there is one. */
  git?: { top: string; own: string; common: string } | undefined
  /** In a worktree of ours: the folder of branches that may be made and moved. All other branches and tags are read-only. */
  branches?: string | undefined
  /** The folder in which the sandbox keeps its home and its /tmp while it exists; the system's own folder if absent. */
  scratch?: string | undefined
  /** What agents keep of this project where pcc keeps it for them; without it, it disappears with the sandbox. */
  conversations?: string | undefined
  /** The package caches of this project; without them they are empty, and disappear with the sandbox. */
  caches?: CacheSettings | undefined
}

export interface CacheSettings {
  /** What set-up commands have downloaded for this project. */
  folder: string
  /** Whether this is one of them: then the folder itself is written. */
  isWritten?: boolean | undefined
  /** Where changes of anybody else stay, for the commands of one verification; by default they disappear with the sandbox. */
  changes?: string | undefined
}

/** What one kind of agent needs in a sandbox. */
export interface SandboxNeeds {
  /**
   * Its own folder, with its login and conversations: nothing else of it is in the sandbox. What the agent could write there would be run
   * or obeyed by the person's next one, so little stays.
   */
  folder?: AgentFolder
  /** Folders of the home directory with what the person has set up. They are read-only, and made if they are missing. */
  shown?: string[]
  /** Folders of `~/.cache` with what it has unpacked: read below a layer for its changes, where layers can be made. */
  caches?: string[]
  /** Hosts of its vendor. */
  hosts: string[]
  /** Variables that may hold another address of the vendor: its host may be reached then. */
  addresses: string[]
}

/** Where an agent writes by itself, by the beginnings of paths in each place. What else appears there comes from its tools. */
export interface OwnFolders {
  agent: string[]
  home: string[]
  tmp: string[]
  caches: string[]
  /** Among those of `agent`: files that it writes once, and runs. */
  runs: string[]
  /** Among those of `agent`: parts of paths of what it tells later conversations. A task that wrote there has left something. */
  tells: string[]
  /** Among those of `tmp`: folders whose content belongs to a conversation. */
  ofTask: string[]
}

/** The folder of an agent in the home directory, and what of it is in the sandbox. Whatever else is written there disappears. */
export interface AgentFolder {
  /** Its name in the home directory, and the variable that names another folder. `below`: it has this name in the folder that the variable names. */
  name: string
  variable: string
  below?: string
  /**
   * The agent works in a home of ours with links to this folder, and its variable names that home. So all folders that are here are there,
   * empty, unless something is said about them: a link that leads nowhere would be an error.
   */
  linked?: true
  /** Folders that stay: conversations and their state. `{project}` is the folder in which the agent works, as the agent writes it. */
  writable: string[]
  /** Folders in those that the agent only reads: what it would write there reaches later conversations, also those outside of the sandbox. */
  readOnly: string[]
  /** Files that the agent changes in place, if there are any: its login. */
  login: string[]
  /** Files of which the agent gets a copy. It may replace it, which it cannot do with a file that is mounted. */
  copies?: string[]
  /** What the agent changes in these fields of the copies is written back: renewed tokens. All else disappears. */
  renewed?: string[]
  /**
   * Folders that pcc keeps for each project, because the agent would put those of all projects together: its conversations. `''` is the
   * whole folder.
   */
  kept?: string[]
  /** What the person has set up: read-only. */
  shown: string[]
  /**
   * A JSON file of which the agent gets a copy, without what its part `projects` says about others. It is beside the folder, or
   * inside of one that the variable names. `without` names parts that are left out, also for each project.
   */
  copied?: { name: string; projects: string; without?: string[] }
  /** Where the agent itself writes, for an agent whose process may serve several tasks. */
  own?: OwnFolders
  /** Parts of these JSON files in which the person names programs and scripts of their own: those are shown. */
  programsIn: { file: string; keys: string[] }[]
}

export const NO_NEEDS: SandboxNeeds = { hosts: [], addresses: [] }
