import type { SessionHost } from './option-values.ts'

export const AGENT_KINDS = ['claude', 'claude-acp', 'gemini', 'codex', 'opencode'] as const
export type AgentKind = (typeof AGENT_KINDS)[number]
/** With those that no manifest of ours describes. */
export type AnyAgentKind = AgentKind | 'custom'

/**
 * `every-call`: nothing runs that was not asked. `writes`: what changes something is asked, reads may run unseen. `observed`: it can be
 * watched and not held; such an agent is not for a night alone, unless a sandbox stands around it.
 */
export type PermissionCoverage = 'every-call' | 'writes' | 'observed'

/** What a driver knows about one kind of agent: data, so that it can be shown, compared and corrected in one place. */
export interface AgentManifest {
  kind: AnyAgentKind
  /** For a person. */
  name: string
  /** Where its process lives, if it is not our own child. */
  host?: SessionHost
  /** Counts changes of this manifest: what was measured with one revision need not hold with another. */
  revision: number
  /** The versions of the program with which every line of it was seen. */
  verified: string[]
  speaks: 'sdk' | 'acp' | 'app-server'
  start: AgentStart
  hold: PermissionCoverage
  /** What stands behind `hold`, for a person. */
  heldBy: string
  modes: { work?: string; readOnly?: string; known: string[] }
  /** How a session that may only read is kept from writing. */
  readOnly: string
  /** How a limit shows. */
  limits: string
  /** `resume` and `load` are the protocol's two ways; `load` tells the whole conversation again. */
  resume: 'resume' | 'load' | 'none'
  forks: boolean
  tools: ToolNaming
  /** How it is given tools of ours; without it, it has none. */
  ownTools?: OwnToolsTransport
  /** Agents that end the whole turn with a refused call are told why with a prompt of their own, and go on. */
  refusalEndsTurn?: true
  /** Agents that tell an answer which the vendor withheld as a turn that is complete, without a word. */
  silentRefusals?: true
  /** Agents that drop a turn which was stopped or failed from their conversation are told again what it was about. */
  forgetsBrokenTurns?: true
  /** What it needs where a sandbox stands around it. */
  sandbox?: SandboxNeeds
  departs: ContractDeviations
  quirks: string[]
}

export interface AgentStart {
  command: string
  args: string[]
  /** Over what the caller gives. */
  env: Record<string, string>
  /** Over `env`, where what the project says may be heard (`settingSources` has `project`). `{cwd}` is the project, as within a text of JSON. */
  trusted?: { env: Record<string, string> }
  /** Variables that are empty where the person has not set them: it would take them from a file of the project. */
  pinned?: string[]
  /** Texts that are put into a folder of the session's own; `{files}` in args and env is that folder. */
  files: Record<string, string>
  /** A home of the session's own, where the agent's settings have to be others than the person's. */
  home?: OwnHome
  /** How a model is chosen: `{model}` is its name. */
  model: { args?: string[]; env?: Record<string, string> }
  /** How a person gets the program. */
  install: string
  /** Given to the agent with a new session, under `_meta`. */
  meta?: Record<string, unknown>
  /** What of the file system and of terminals we do for the agent. */
  serves: { files: boolean; terminals: boolean }
}

/** A home in which an agent finds all that it keeps in the person's own, and settings of which some are ours. */
export interface OwnHome {
  /** The variable that tells the agent where its home is; without it, it is the person's. */
  variable: string
  /** The folder in it that holds what the agent keeps. */
  folder: string
  /** The file of that folder with its settings, as JSON. */
  settings: string
  /** What is set in them, over what the person has set. */
  over: Record<string, unknown>
  /** Files of that folder that an agent may begin: they become the person's. */
  shared: string[]
  /** The same with folders. */
  sharedFolders: string[]
  /** What else it looks for in its home. */
  beside: string[]
}

/**
 * `library`: within our own process, called over the connection with the agent. `mcp`: over a server that it starts, which is named to it by the protocol
 * or, where that says too little, in what `start.meta` holds (`{ownServers}`); in a terminal by a file of settings. `{server}` and `{tool}` stand for the names in what it calls a
 * tool.
 */
export type OwnToolsTransport =
  | { over: 'library' }
  | { over: 'mcp'; named: 'protocol' | 'meta' | 'settings'; called: string }

/** Where the fields of one of our own tools are found in a call of the agent's. */
export type ToolFieldSource = 'title' | 'location' | 'diff.path' | 'diff.old' | 'diff.new' | `input.${string}`

export interface ToolNaming {
  /** `native`: the agent's tools are ours by name and input. Otherwise where the name of a tool stands. */
  nameIn: 'native' | 'name' | 'call-id' | 'title'
  /** The agent's tools by their own names. What is not here is judged by its kind, and what has none as the worst. */
  known: Record<string, { tool: string; input: Record<string, ToolFieldSource[]> }>
  /** Titles, of kind `other`, under which the agent tells that a call could not be made: nothing ran, and nothing was asked. */
  inert?: string[]
  /** How an agent that asks about every call tells of one that it gave up before it came to that: by its kind, or by what it says. */
  failsUnasked?: { kinds?: string[]; saying?: string[] }
}

/** What `agents.sandbox` may say, loosest first. */
export const SANDBOX_MODES = ['off', 'auto', 'required'] as const
export type SandboxMode = (typeof SANDBOX_MODES)[number]

/** The program that makes sandboxes on this machine. */
export interface SandboxProgram {
  program: string
  version: string
}

/** What the settings say of the sandbox of one session. */
export interface SandboxSettings {
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

/**
 * What a session promises (docs/drivers.md), point by point, with the ways in which an agent may fall short of each. An agent
 * keeps a point unless its manifest names one of these ways; the conformance suite holds every agent to what it says.
 */
export const CONTRACT = {
  'turn.text': {},
  'turn.thinking': { untold: 'what the model thinks is not told' },
  'turn.plan': { untold: 'the plan of the agent is not told' },
  'turn.calls': {},
  'turn.every-call-asked': { 'reads-run': 'it reads inside the project without asking' },
  'turn.usage': { untold: 'tokens are not told' },
  'turn.cost': { untold: 'the cost is not told: it stays 0' },
  'turn.context': { untold: 'how full the context is, is not told' },
  'turn.rounds': {},
  'turn.next': {},
  'turn.cap': {},
  'turn.after-failure': {
    forgets: 'a turn that failed is forgotten: the next prompt begins with what was said before',
  },
  'refusal.stops': {},
  'refusal.explained': { unexplained: 'the model learns that a call was refused, and not why' },
  'refusal.parallel': {
    'all-fall': 'one refusal of calls made at once refuses those behind it',
  },
  'refusal.fails-closed': {},
  'refusal.judged-input': {},
  subagent: {
    'no-words': 'calls of a subagent are asked with its id; what it says is not told',
    'no-id': 'calls of a subagent are asked, but nobody can tell whose they are',
    none: 'it has no subagents here',
  },
  question: { single: 'it asks for one answer, never for several', none: 'it cannot ask a person' },
  'question.declined': {
    unexplained: 'the model learns that nobody answered, and not why',
    none: 'it cannot ask a person',
  },
  'question.late': {
    unexplained: 'the model learns that nobody answered, and not why',
    none: 'it cannot ask a person',
  },
  'tools.done': { none: 'it has no tools of ours' },
  'tools.refused': { none: 'it has no tools of ours' },
  'tools.ask': { none: 'it has no tools of ours' },
  'tools.park': {
    lost: 'a question by a tool of ours ends a session that cannot be resumed: a new one begins',
    none: 'it has no tools of ours',
  },
  'stop.pause': { forgets: 'a turn that was paused is forgotten: the next prompt begins with what was said before' },
  'stop.pause-thinking': {},
  'stop.pause-subagent': { none: 'it has no subagents here' },
  'stop.prompt-in-turn': { after: 'what is said in the middle of a turn is heard after it' },
  'stop.interrupt': {},
  'stop.interrupt-ask': {},
  'park.call': {
    gone: 'a call cannot be put off: it is refused, the session ends, and what is said to it comes with the next prompt',
    lost: 'a call cannot be put off and the conversation cannot be resumed: a new one begins',
  },
  'park.question': {
    gone: 'a question cannot be put off: the session ends, and the answer comes with the next prompt',
    none: 'it cannot ask a person',
  },
  'park.batch': {
    gone: 'of calls made at once those behind the parked one are given up with it',
    lost: 'a call cannot be put off and the conversation cannot be resumed: a new one begins',
  },
  resume: { none: 'a conversation cannot be resumed: a new one begins from the checkpoint' },
  'resume.unknown': {},
  'resume.fork': { none: 'a conversation cannot be forked' },
  'limit.told': {
    'no-window': 'a limit is told with its reset, without a window and without warning',
    'no-reset': 'a limit is told without its reset: it is tried again later and later',
    silent: 'it tries again without end and without a word',
  },
  'limit.without-reset': {
    'as-a-time': 'every refusal of the vendor comes with a time',
    silent: 'it tries again without end and without a word',
  },
  'limit.look-alike': {},
  'failure.kinds': {},
  'failure.retries': {
    untold: 'its own retries are not told',
    some: 'it gives up some failures at once; the retries of others are told',
  },
  'failure.login': {},
  'failure.crash': {},
  'failure.start': {},
  'process.environment': {},
  'process.nothing-left': {
    waits: 'a command that leaves something running is waited for; the close ends it',
    ends: 'what a command leaves running ends with the command',
  },
  'process.close': {},
  warm: { none: 'no process is started ahead of time' },
} as const satisfies Record<string, Record<string, string>>

export type ContractPoint = keyof typeof CONTRACT

/** Where an agent falls short, and in which way. */
type ContractDeviations = { [Point in ContractPoint]?: keyof (typeof CONTRACT)[Point] }
