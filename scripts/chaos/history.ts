import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { CrashPointName } from '../../src/base/crash-point.ts'
import type { EventKind, StoredEvent } from '../../src/domain/event.ts'
import type { LoggedRequest } from '../../src/simulator/request-log.ts'
import type { ServerError } from './fixture/daemon-runner.ts'
import type { RoundFixture } from './fixture/open-fixture.ts'
import type { Outlived } from './fixture/outliving.ts'
import type { RunFacts } from './fixture/run-project.ts'
import type { FaultKind } from './plan/fault-kinds.ts'
import type { SessionPlan } from './plan/session-plan.ts'

/** An injected fault, and when it happened. */
export interface Injected {
  kind: FaultKind
  at: number
  /** When it was over, or had hit its target; absent if that is the same time. */
  until?: number | undefined
  /** The affected session, if there is one. */
  session?: string | undefined
  /** For `kill-tool`: the token of the killed tool. */
  tool?: string | undefined
  /** For `crash-point`: the step. */
  step?: CrashPointName | undefined
  /** Whether there was anything to hit. */
  hit: boolean
}

/** One request to the model, reduced to what the invariants need. */
export interface ModelCall {
  at: number
  /** The vendor's conversation. */
  conversation: string
  /** Identified by the credential of the request. */
  account: string
  /** The turn of the scenario that answered it. */
  turn: string | null
  response: string
  /** The text of all messages to the model. */
  told: string
  /** The part of it from people and tools, without the model's own words and the options that it offered. */
  heard: string
}

/** Everything that is known about a finished round; the invariants use only this. */
export interface History {
  sessions: SessionPlan[]
  /** The person's answers. Late: only after they were notified, or had waited for a notice in vain. */
  waits: { number: number; isLate: boolean }[]
  events: Pick<StoredEvent, 'id' | 'time' | 'subject' | 'kind' | 'body'>[]
  rows: {
    sessions: {
      id: string
      project: string
      state: string
      ended_as: string | null
      account: string | null
      status_reason: string | null
      resumes_at: number | null
    }[]
    tasks: { id: string; session_id: string; title: string; state: string; attempt: number }[]
    escalations: { number: number; kind: string; session_id: string; state: string }[]
    outbox: { id: number; dedup_key: string; kind: string; state: string }[]
  }
  integrity: string[]
  calls: ModelCall[]
  /** The lines that tools wrote, by session. */
  ledgers: Record<string, string[]>
  /** The files in the `src` folder of each session's project. */
  files: Record<string, string[]>
  notices: { at: number; title: string; text: string }[]
  faults: Injected[]
  /** When each daemon was killed or died. */
  deaths: number[]
  /** The steps that were passed, and those at which daemons died. */
  passed: string[]
  died: string[]
  /** Processes that were still running after the daemon had ended. */
  orphans: string[]
  /** How long agents outlived each daemon that died. */
  outlived: Outlived[]
  /** Cases in which two agents, or two daemons, were alive at once. */
  doubles: string[]
  /** Server errors of the daemons. */
  errors: ServerError[]
  /** Uncommitted changes of a person that were lost. */
  overwritten: string[]
  /** Anything unexpected that the runner met. */
  complaints: string[]
  /** What git says about the project of a run, if the round had one. */
  run?: RunFacts | undefined
}

/** The part that the runner itself observed. */
type Seen = Omit<
  History,
  'sessions' | 'passed' | 'died' | 'events' | 'rows' | 'integrity' | 'calls' | 'ledgers' | 'files' | 'notices'
>

/** The prefix with which a daemon logs its last step (`src/base/crash-point.ts`). */
const DIED = 'died '

/** Reads the records of the store, the vendor and the tools. */
export function readHistory(
  { paths, simulator, notices, projectOf, passedFile }: RoundFixture,
  sessions: SessionPlan[],
  seen: Seen,
): History {
  const steps = linesOf(passedFile)
  return {
    ...seen,
    passed: [...new Set(steps.filter(line => !line.startsWith(DIED)))],
    died: steps.filter(line => line.startsWith(DIED)).map(line => line.slice(DIED.length)),
    sessions,
    ...storeIn(paths.database),
    calls: simulator.requests
      .filter(({ path }) => path.startsWith('/v1/messages?') || path === '/v1/messages')
      .map(callOf),
    ledgers: Object.fromEntries(sessions.map(session => [session.name, linesOf(join(projectOf(session), 'ledger'))])),
    files: Object.fromEntries(sessions.map(session => [session.name, namesIn(join(projectOf(session), 'src'))])),
    notices: notices.messages,
  }
}

/** A store that cannot be read counts as damaged; the rest of the round's history is kept. */
export function storeIn(file: string): Pick<History, 'events' | 'rows' | 'integrity'> {
  try {
    using db = openRead(file)
    return {
      events: allOf<{ id: number; time: number; subject: string; kind: EventKind; body: string }>(
        db,
        'select id, time, subject, kind, body from events order by id',
      ).map(event => ({ ...event, body: JSON.parse(event.body) }) as History['events'][number]),
      rows: {
        sessions: allOf(db, 'select id, project, state, ended_as, account, status_reason, resumes_at from sessions'),
        tasks: allOf(db, 'select id, session_id, title, state, attempt from tasks'),
        escalations: allOf(db, 'select number, kind, session_id, state from escalations'),
        outbox: allOf(db, 'select id, dedup_key, kind, state from outbox'),
      },
      integrity: allOf<Record<string, unknown>>(db, 'pragma integrity_check').flatMap(row =>
        Object.values(row).map(String),
      ),
    }
  } catch (error) {
    const rows = { sessions: [], tasks: [], escalations: [], outbox: [] }
    return { events: [], rows, integrity: [`it cannot be read: ${String(error)}`] }
  }
}

/** Opens a separate read-only connection, which blocks nobody. */
export function openRead(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
}

export function allOf<Row>(db: DatabaseSync, sql: string): Row[] {
  return db.prepare(sql).all() as unknown as Row[]
}

function callOf({ time, session, headers, turn, response, body }: LoggedRequest): ModelCall {
  const told = JSON.stringify(body.messages)
  const heard = JSON.stringify(body.messages.filter(({ role }) => role === 'user'))
  return { at: time, conversation: session, account: headers['authorization'] ?? '', turn, response, told, heard }
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
