import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { CrashPointName } from '../../src/base/crash-point.ts'
import type { EventKind, StoredEvent } from '../../src/domain/event.ts'
import type { LoggedRequest } from '../../src/simulator/request-log.ts'
import type { FaultKind } from './plan/fault-kinds.ts'
import type { SessionPlan } from './plan/session-plan.ts'
import type { ServerError } from './world/daemon-keeper.ts'
import type { RoundWorld } from './world/open-world.ts'
import type { Outlived } from './world/outliving.ts'
import type { RunFacts } from './world/run-project.ts'

/** What went wrong when; `endedAt` where it lasted. */
export interface Injected {
  kind: FaultKind
  at: number
  /** When it was over, or had hit what it looked for; absent where that is the same. */
  until?: number | undefined
  /** The session it was about, where it was about one. */
  session?: string | undefined
  /** Of `kill-tool`: the token of the tool that it hit. */
  tool?: string | undefined
  /** Of `crash-point`: the step. */
  step?: CrashPointName | undefined
  /** What it came to; nothing where there was nothing to hit. */
  hit: boolean
}

/** One request to the model, as far as it is looked at. */
export interface ModelCall {
  at: number
  /** The vendor's conversation. */
  conversation: string
  /** By the credential it came with. */
  account: string
  /** The turn of the scenario it was answered with. */
  turn: string | null
  response: string
  /** The text of everything that the model was told. */
  told: string
  /** Of that, what people and tools said; the model's own words, and the options that it offered, are not in it. */
  heard: string
}

/** Everything that is known of a round when it is over; the invariants look at this and nothing else. */
export interface History {
  sessions: SessionPlan[]
  /** What a person answered; late: only after they had been told, or had waited for that in vain. */
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
  /** The files that are in the `src` of each session's project. */
  files: Record<string, string[]>
  notices: { at: number; title: string; text: string }[]
  faults: Injected[]
  /** When each daemon was killed or died. */
  deaths: number[]
  /** The steps that were passed, and those at which daemons died. */
  passed: string[]
  died: string[]
  /** Processes that were still there after the daemon had ended. */
  orphans: string[]
  /** For how long agents outlived each daemon that died. */
  outlived: Outlived[]
  /** Where two agents, or two daemons, were alive at once. */
  doubles: string[]
  /** Replies in which a daemon said that it failed. */
  errors: ServerError[]
  /** What a person had not committed and did not find again. */
  overwritten: string[]
  /** What the runner met that should not be. */
  complaints: string[]
  /** What git says about the project of a run, where the round had one. */
  run?: RunFacts | undefined
}

/** What the runner itself saw. */
type Seen = Omit<
  History,
  'sessions' | 'passed' | 'died' | 'events' | 'rows' | 'integrity' | 'calls' | 'ledgers' | 'files' | 'notices'
>

/** How a daemon notes its last step (`src/base/crash-point.ts`). */
const DIED = 'died '

/** Reads what the store, the vendor and the tools have kept. */
export function readHistory(
  { paths, simulator, notices, projectOf, passedFile }: RoundWorld,
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

/** A store that cannot be read is a damaged one, and no reason to lose what else is known of a round. */
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

/** A reader of its own, which holds up nobody. */
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
