import type { AgentManifest } from '../agent-manifest.ts'

/**
 * Everything that pcc knows about one agent. Every table that names agents is made from these: how a command line chooses one,
 * its variables and login, what `pcc agents` prints, which files and variables the policy protects.
 */
export interface AgentDefinition extends AgentManifest {
  /** Its name as the one who says something. */
  speaker: string
  /** The npm package of the program; its package.json, near the program, holds the version. */
  package?: string
  commandLine: {
    /** Arguments that select the protocol. They are always given, so naming them changes nothing. */
    protocol: readonly string[]
    /**
     * The flags that a person may give, with or without a value. A list of forbidden flags would never be complete, because
     * programs spell one flag in many ways. For any other flag, a person needs a custom agent, which is only observed.
     */
    flags: Readonly<Record<string, 'value' | 'alone'>>
  }
  vendor: Vendor
  /** The folder in which a project or a person steers it; no agent writes there unasked. */
  settingsFolder: string
  /** The same program in a tmux window, for an agent that reports through hooks what it does there. */
  inTmux?: AgentManifest
}

/** The vendor whose model an agent calls: which variables its agents get, and how its account is recognised. */
export interface Vendor {
  /** Part of the account's name: two agents of one vendor share a login, and with it a limit. */
  tag: string
  /** Set if the agent calls the vendor for which it is configured, of many. */
  isAny?: true
  /** Variables that are passed on to its agents. */
  env: readonly string[]
  /** How the names of its variables begin, up to the first `_`. */
  prefixes: readonly string[]
  /** Variables that override the vendor's address. */
  addresses: readonly string[]
  host: string
  /** Variables that hold a credential, the one with precedence first, and what kind it is. */
  credentials: readonly (readonly [name: string, what: string])[]
  /** Where a login is stored: in the directory that the variable names, or else in the folder of the home directory; in which file; and the command that makes one. */
  login: {
    variable: string
    /** A folder below the directory that the variable names. */
    below?: string
    folder: string
    file: string
    command: string
  }
}
