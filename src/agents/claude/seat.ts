import type { Query, SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import type { AgentProcess } from '../agent-process.ts'
import type { Gate } from './gate.ts'
import type { OwnServer } from './own-server.ts'

/** A place for one session: its process, its gate, and how to begin. */
export interface Seat {
  readonly gate: Gate
  readonly agent: AgentProcess
  /** Our tools for the agent, where it is given any. */
  readonly own: OwnServer
  readonly askDeadlineMs: number
  readonly reofferMs: number
  /** A process that waits may refuse the session; then another is started. */
  query(prompts: AsyncIterable<SDKUserMessage>): Query | Promise<Query>
}
