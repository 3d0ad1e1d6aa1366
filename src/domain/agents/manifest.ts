import type { Departures } from './contract.ts'
import type { SandboxNeeds } from './sandbox.ts'
import type { SessionHost } from './session-hosts.ts'

export const AGENT_KINDS = ['claude', 'claude-acp', 'gemini', 'codex', 'opencode'] as const
export type AgentKind = (typeof AGENT_KINDS)[number]
/** With those that no manifest of ours describes. */
export type AnyAgentKind = AgentKind | 'custom'

/**
 * `every-call`: nothing runs that was not asked. `writes`: what changes something is asked, reads may run unseen. `observed`: it can be
 * watched and not held; such an agent is not for a night alone, unless a sandbox stands around it.
 */
export type Hold = 'every-call' | 'writes' | 'observed'

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
  hold: Hold
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
  ownTools?: OwnToolsWay
  /** Agents that end the whole turn with a refused call are told why with a prompt of their own, and go on. */
  refusalEndsTurn?: true
  /** Agents that tell an answer which the vendor withheld as a turn that is complete, without a word. */
  silentRefusals?: true
  /** Agents that drop a turn which was stopped or failed from their conversation are told again what it was about. */
  forgetsBrokenTurns?: true
  /** What it needs where a sandbox stands around it. */
  sandbox?: SandboxNeeds
  departs: Departures
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
export type OwnToolsWay = { over: 'library' } | { over: 'mcp'; named: 'protocol' | 'meta' | 'settings'; called: string }

/** Where the fields of one of our own tools are found in a call of the agent's. */
export type Source = 'title' | 'location' | 'diff.path' | 'diff.old' | 'diff.new' | `input.${string}`

export interface ToolNaming {
  /** `native`: the agent's tools are ours by name and input. Otherwise where the name of a tool stands. */
  nameIn: 'native' | 'name' | 'call-id' | 'title'
  /** The agent's tools by their own names. What is not here is judged by its kind, and what has none as the worst. */
  known: Record<string, { tool: string; input: Record<string, Source[]> }>
  /** Titles, of kind `other`, under which the agent tells that a call could not be made: nothing ran, and nothing was asked. */
  inert?: string[]
  /** How an agent that asks about every call tells of one that it gave up before it came to that: by its kind, or by what it says. */
  failsUnasked?: { kinds?: string[]; saying?: string[] }
}
