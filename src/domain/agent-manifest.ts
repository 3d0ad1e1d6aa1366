import type { SandboxNeeds } from '../base/sandbox/settings.ts'
import type { SessionHost } from './option-values.ts'

/**
 * `every-call`: the agent asks before every call. `writes`: it asks before calls that change something; reads may run
 * unasked. `observed`: it can be watched but not stopped; it must not run unattended except in a sandbox.
 */
export type PermissionCoverage = 'every-call' | 'writes' | 'observed'

/** Everything a driver knows about one kind of agent, as data, so that it can be shown, compared and corrected in one place. */
export interface AgentManifest {
  /** Its kind in the registry (`agents/agent-registry.ts`), or `custom`. */
  kind: string
  /** The name that people see. */
  name: string
  /** Where its process runs, if it is not our own child. */
  host?: SessionHost
  /** Rises with every change of this manifest: what was measured with one revision may not hold for another. */
  revision: number
  /** The versions of the program with which every line of this manifest was verified. */
  verified: string[]
  speaks: 'sdk' | 'acp' | 'app-server'
  start: AgentStart
  hold: PermissionCoverage
  /** How `hold` is enforced, for a person. */
  heldBy: string
  modes: { work?: string; readOnly?: string; known: string[] }
  /** How a session that may only read is kept from writing. */
  readOnly: string
  /** How a limit becomes visible. */
  limits: string
  /** The protocol has two ways, `resume` and `load`; `load` replays the whole conversation. */
  resume: 'resume' | 'load' | 'none'
  forks: boolean
  tools: ToolNaming
  /** How it gets our own tools; if absent, it has none. */
  ownTools?: OwnToolsTransport
  /** Set for agents that end the whole turn after a refused call: they get the reason in a new prompt, and continue. */
  refusalEndsTurn?: true
  /** Set for agents that report a reply withheld by the vendor as a complete turn without text. */
  silentRefusals?: true
  /**
   * Set for agents that say notices and errors of their own as if the model had said them, as regular expressions. Only their own record of
   * the conversation tells an error from words of the model; `{home}` is the home of the session, `{session}` its vendor id.
   */
  ownWords?: { notices: string; errors: string; record: string }
  /** Set for agents that drop a stopped or failed turn from their conversation: they are told again what it was about. */
  forgetsBrokenTurns?: true
  /** What it needs inside a sandbox. */
  sandbox?: SandboxNeeds
  departs: ContractDeviations
  quirks: string[]
}

export interface AgentStart {
  command: string
  args: string[]
  /** Overrides the caller's environment. */
  env: Record<string, string>
  /** Overrides `env` if the project's settings apply (`settingSources` has `project`). `{cwd}` is the project, escaped for JSON. */
  trusted?: { env: Record<string, string> }
  /** Variables that are set to empty if the person has not set them, because the agent would otherwise read them from a file of the project. */
  pinned?: string[]
  /** Paths in a project whose programs it would run unasked, whatever its settings say: it is not started where one of them exists. */
  runsUnasked?: string[]
  /** Files that are written into a folder of the session; `{files}` in args and env is that folder. */
  files: Record<string, string>
  /** A separate home for the session, if the agent's settings must differ from the person's. */
  home?: OwnHome
  /** How a model is selected; `{model}` is its name. */
  model: { args?: string[]; env?: Record<string, string> }
  /** How a person installs the program. */
  install: string
  /** Set if the program comes with pcc: its version is ours, and `agents.path` names another one. */
  bundled?: true
  /** Sent to the agent with a new session, under `_meta`. */
  meta?: Record<string, unknown>
  /** Whether we serve files and terminals for the agent. */
  serves: { files: boolean; terminals: boolean }
}

/** A home in which an agent finds everything of the person's own home, with some settings of ours. */
export interface OwnHome {
  /** The variable that tells the agent where its home is; if it is unset, that is the person's home, or a folder in it (`unset`). */
  variable: string
  unset?: string
  /** The agent's folder in that home. */
  folder: string
  /** The settings file in that folder, as JSON. */
  settings: string
  /** Settings that override the person's. */
  over: Record<string, unknown>
  /** Files of that folder that an agent may create; they become the person's. */
  shared: string[]
  /** Folders that an agent may create in the same way. */
  sharedFolders: string[]
  /** `shared`: nothing else of the person's folder is linked, because something there would let the agent act unasked. */
  links?: 'shared'
  /** Other entries that it looks for in its home. */
  beside: string[]
}

/**
 * `library`: the tools run in our own process, called over the connection with the agent. `mcp`: they run in a server that
 * the agent starts. The agent learns of that server by the protocol or, where that says too little, from `start.meta`
 * (`{ownServers}`), and in a terminal from a settings file. `called` is the agent's name for a tool, with `{server}` and `{tool}`.
 */
export type OwnToolsTransport =
  | { over: 'library' }
  | { over: 'mcp'; named: 'protocol' | 'meta' | 'settings'; called: string }

/** Where the fields of a tool are found in a call of the agent. */
export type ToolFieldSource = 'title' | 'location' | 'diff.path' | 'diff.old' | 'diff.new' | `input.${string}`

export interface ToolNaming {
  /** `native`: the agent's tools have our names and inputs. Otherwise, the field that holds the tool's name. */
  nameIn: 'native' | 'name' | 'call-id' | 'title'
  /** The agent's tools by their own names. Other tools are judged by their kind, and those without a kind as the riskiest. */
  known: Record<string, { tool: string; input: Record<string, ToolFieldSource[]> }>
  /** Titles, of kind `other`, with which the agent reports that a call could not be made: nothing ran, and nothing was asked. */
  inert?: string[]
  /** How an agent that asks before every call reports a call that it gave up before asking: by its kind, or by its text. */
  failsUnasked?: { kinds?: string[]; saying?: string[] }
}

/**
 * The contract of a session (docs/drivers.md), point by point, with the allowed deviations from each point. An agent keeps a
 * point unless its manifest names a deviation; the conformance suite checks that every agent does what its manifest says.
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
  reuse: { none: 'every session has a process of its own' },
} as const satisfies Record<string, Record<string, string>>

export type ContractPoint = keyof typeof CONTRACT

/** The points from which an agent deviates, and how. */
type ContractDeviations = { [Point in ContractPoint]?: keyof (typeof CONTRACT)[Point] }
