import { isObject } from '../../base/json.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import { OWN_SERVER } from '../../domain/own-server.ts'
import type { OpenSession, SessionEvent } from '../../domain/session.ts'
import { type SettingsState, settingsState } from './settings-state.ts'

/**
 * What is known of a process that may serve several sessions, one after the other: what it was like when it began, and what has happened
 * since that could outlast a cleared conversation.
 */
export class ProcessUse {
  /** Sessions that it has served before the current one. */
  served = 0
  /** The model that it uses, by the name that it was given. */
  model: string | undefined
  #settings: SettingsState | undefined
  #introduction: string | undefined
  #doubt: string | undefined

  /** Why nobody can be sure that a cleared conversation leaves nothing behind. */
  get doubt(): string | undefined {
    return this.#settings?.doubt ?? this.#doubt
  }

  /** Whether it has said what it offers. */
  get isIntroduced(): boolean {
    return this.#introduction !== undefined
  }

  /** Called when a session takes the process. What the process has read of the settings by then stays in force. */
  begin(open: OpenSession): void {
    this.model = open.model
    this.#settings ??= settingsState(open)
  }

  /** Takes the first introduction of the process; true if this message is that. */
  introduce(message: unknown): boolean {
    if (this.#introduction !== undefined || !isIntroduction(message)) return false
    this.#introduction = describe(message)
    return true
  }

  /** Whether the process offers what it offered at first. */
  isAsIntroduced(message: unknown): boolean {
    return isIntroduction(message) && describe(message) === this.#introduction
  }

  /** Whether a process that is started now would read the same settings. */
  hasSettingsOf(open: OpenSession): boolean {
    return this.#settings !== undefined && settingsState(open).state === this.#settings.state
  }

  notice(event: SessionEvent): void {
    this.#doubt ??= doubtAfter(event)
  }
}

/**
 * Tools after which nothing stays in the process but what is in the conversation and its folders. A shell is not among them: code of the task
 * runs beside the agent, can attach to it, and can write the file with which every later command begins.
 */
const FORGOTTEN_TOOLS = new Set([
  ...WRITING_TOOLS,
  ...['Read', 'Glob', 'Grep', 'LS', 'TodoWrite', 'Agent', 'AskUserQuestion', 'ToolSearch'],
])

/**
 * Why a process is not used again after this event. Other tools may leave something in it: code, a schedule, a mode, another folder, a
 * loaded skill, a connection.
 */
export function doubtAfter(event: SessionEvent): string | undefined {
  switch (event.kind) {
    case 'tool_request':
      return FORGOTTEN_TOOLS.has(event.tool) || event.tool.startsWith(`mcp__${OWN_SERVER}__`)
        ? undefined
        : `its task has used ${event.tool}`
    case 'turn_ended':
      return event.outcome === 'completed' ? undefined : 'a turn of its task did not end well'
    case 'retry':
      return 'the model could not be reached for a while'
    case 'limit':
      return event.status === 'rejected' ? 'its account has reached a limit' : undefined
    case 'compacting':
      return 'its conversation was shortened'
    default:
      return undefined
  }
}

function isIntroduction(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message['type'] === 'system' && message['subtype'] === 'init'
}

/** What differs in every conversation, or may be changed for it. */
const PER_CONVERSATION = new Set(['session_id', 'uuid', 'model', 'timestamp'])

function describe(message: Record<string, unknown>): string {
  const kept = Object.entries(message).filter(([name]) => !PER_CONVERSATION.has(name))
  return JSON.stringify(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
