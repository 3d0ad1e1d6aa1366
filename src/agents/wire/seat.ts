import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { AgentProcess } from '../agent-process.ts'

/** What a session over pipes is given beside what it is to do. */
export interface Seat {
  /** The agent: its kind for a recording, its name and how to get it for a person. */
  manifest: Pick<AgentManifest, 'kind' | 'name' | 'start'>
  process: AgentProcess
  askDeadlineMs: number
  /** How long it may take to introduce itself and to open a conversation. */
  startMs: number
  /** How long it may take to stop. */
  stopMs: number
  log(line: string): void
}

/** What goes over the pipes, whatever is spoken there. */
export interface Connection {
  readonly closed: Promise<void>
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
  close(): void
}
