import type { Generated, Selectable } from 'kysely'
import type { StartSession } from '../domain/api.ts'
import type { Escalation, RememberedAnswer } from '../domain/escalation.ts'
import type { EventBody } from '../domain/event.ts'
import type { PlanItem } from '../domain/session.ts'
import type { EndedAs, SessionState } from '../domain/session-status.ts'

/** The tables as the database holds them: JSON is text here and is parsed at the store's edge. Times are milliseconds. */
export interface Tables {
  events: EventsTable
  sessions: SessionsTable
  escalations: Omit<EscalationsTable, 'number'> & { number: Generated<number> }
  answers: RememberedAnswer
}

export interface EventsTable {
  id: Generated<number>
  time: number
  actor: string
  schema_version: number
  subject: string
  kind: string
  body: string
}

export type EventRow = Selectable<EventsTable>

export type EscalationsTable = Omit<Escalation, 'input'> & { input: string }

export type SessionsTable = Omit<SessionRow, JsonColumn> & { options: string; plan: string; parked: string | null }

export type JsonColumn = 'options' | 'plan' | 'parked'

/** What `pcc start` asked for, without the caller's environment: that is never stored, and of the settings no secret is. */
export type SessionOptions = Omit<StartSession, 'env'>

/** A session as the rest of the program sees it: its row with the JSON parsed. */
export interface SessionRow {
  id: string
  name: string
  project: string
  task: string
  agent: string
  model: string | null
  vendor_id: string | null
  options: SessionOptions
  /** Boot id of the daemon that runs it. */
  owner: string | null
  state: SessionState
  status_reason: string | null
  ended_as: EndedAs | null
  created_at: number
  started_at: number | null
  ended_at: number | null
  resumes_at: number | null
  activity: string | null
  plan: PlanItem[]
  input_tokens: number
  output_tokens: number
  context_tokens: number
  context_window: number
  cost_usd: number
  turns: number
  tools_auto: number
  tools_human: number
  tools_denied: number
  questions_auto: number
  questions_human: number
  /** The question nobody could answer; it waits for the session to be resumed. */
  parked: ParkedQuestion | null
  account: string | null
  /** Process marker of its agent, and the process itself by pid and start time. */
  marker: string | null
  agent_pid: number | null
  agent_started: string | null
}

/** `taken`: the agent took an answer to the call but went no further, so the next one is told to it in words. */
export type ParkedQuestion = EventBody<'question.parked'> & { taken?: true }

/** What a new session must say; everything else has a sensible start. */
export type NewSessionRow = Pick<SessionRow, 'id' | 'name' | 'project' | 'task' | 'agent'> & Partial<SessionRow>
