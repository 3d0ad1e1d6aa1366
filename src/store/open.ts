import { type Clock, systemClock } from '../base/clock.ts'
import { openSqlite } from './database/sqlite.ts'
import { openAnswers } from './decisions/answers.ts'
import { openEscalations } from './decisions/escalations.ts'
import { followEvents, SharedPages } from './events/follow.ts'
import { openEventPruning } from './events/prune.ts'
import { newestEventId, queryEvents } from './events/query.ts'
import { Wake } from './events/wake.ts'
import { openEvidence } from './evidence/evidence.ts'
import { openGateResults } from './evidence/gate-results.ts'
import { openFeatures } from './features/features.ts'
import { openGateRows } from './gates.ts'
import { openJournal } from './journal/journal.ts'
import { openMergeRows } from './merges/merges.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { openOutbox } from './outbox.ts'
import { openQuotaRows } from './quota/quota.ts'
import { openRuns } from './runs/runs.ts'
import { openSchedules } from './schedules/schedules.ts'
import { openSessions } from './sessions.ts'
import { openSpending } from './spending.ts'
import type { Store } from './store.ts'
import { openTasks } from './tasks/tasks.ts'
import { openWorktreeRows } from './worktrees/worktrees.ts'
import { Writer } from './writer.ts'

export interface OpenStore {
  file: string
  clock?: Clock
  /** How often followers look for events of other processes: rare, since it is the daemon that writes. */
  pollMs?: number
  /** Hears of every failure that lies in the file or its disk, before whoever asked does. */
  onFailure?(error: unknown): void
}

/** Opens the database, making or upgrading it where needed. */
export async function openStore({ file, clock = systemClock, pollMs = 1000, onFailure }: OpenStore): Promise<Store> {
  const database = await openSqlite(file, MIGRATIONS.length, onFailure)
  const schema = await migrate(database, file, MIGRATIONS).catch(async error => {
    await database.close()
    throw error
  })
  const wake = new Wake(() => newestEventId(database.read), pollMs)
  const pages = new SharedPages()
  const writer = new Writer({ database, clock, committed: () => wake.ring() })
  const close = async () => {
    const drained = writer.drain() // refuses inside a transaction, before anything is closed
    wake.close()
    await drained
    await database.close()
  }
  return {
    schema,
    transaction: work => writer.transaction(work),
    append: (events, tx) => writer.append(events, tx),
    follow: (after, options) => followEvents({ database, wake, pages }, after, options),
    events: query => queryEvents(database.read, query),
    sessions: openSessions({ read: database.read, writer, clock }),
    escalations: openEscalations(database.read),
    answers: openAnswers(database.read, writer),
    tasks: openTasks(database.read, database.differences),
    gates: openGateRows(database.read),
    quota: openQuotaRows({ read: database.read, writer, clock }),
    runs: openRuns(database.read, writer),
    schedules: openSchedules(database.read),
    journal: openJournal(database.read, database.differences),
    features: openFeatures(database.read, writer),
    worktrees: openWorktreeRows(database.read, writer),
    evidence: openEvidence(database.read),
    gateResults: openGateResults(database.read, writer),
    merges: openMergeRows(database.read),
    spending: openSpending(database.read),
    outbox: openOutbox(database.read, writer),
    pruning: openEventPruning(database, writer),
    close,
    [Symbol.asyncDispose]: close,
  }
}
