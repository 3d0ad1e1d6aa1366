import { open as openFile } from 'node:fs/promises'
import { type Clock, systemClock } from '../base/clock.ts'
import { openAcceptedFileStore } from './accepted-files.ts'
import { openApiKeyStore, openAuditStore } from './access.ts'
import { openAnswerStore } from './answers.ts'
import { openApiReplyStore } from './api-replies.ts'
import { openEscalationStore } from './escalations.ts'
import { openEventPruning } from './event-pruning.ts'
import { EventPageCache, EventSignal, followEvents, newestEventId, queryEvents } from './events.ts'
import { openFeatureStore } from './features.ts'
import { openFigureStore } from './figures.ts'
import { openJournalStore } from './journal.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { openObservedStore } from './observed.ts'
import { openOutboxStore } from './outbox.ts'
import { openAccountGateStore, openQuotaStore } from './quota.ts'
import { openRunStore, openScheduleStore } from './runs.ts'
import { openSessionStore } from './sessions.ts'
import { openSpendingStore } from './spending.ts'
import { openSqlite } from './sqlite.ts'
import { SCHEMA } from './sqlite-file.ts'
import type { Store } from './store.ts'
import { openTaskStore } from './tasks.ts'
import { openWebhookStore } from './webhooks.ts'
import { openEvidenceStore, openGateResultStore, openMergeStore, openWorktreeStore } from './workspace.ts'
import { Writer } from './writer.ts'

export interface OpenStore {
  file: string
  clock?: Clock
  /** How often followers poll for events of other processes. Rarely, because usually the daemon itself writes. */
  pollMs?: number
  /** Called for every failure of the file or its disk, before the caller gets the error. */
  onFailure?(error: unknown): void
}

/** Opens the database, and creates or upgrades it if necessary. */
export async function openStore({ file, clock = systemClock, pollMs = 1000, onFailure }: OpenStore): Promise<Store> {
  const database = await openSqlite(file, SCHEMA, onFailure)
  const schema = await migrate(database, file, MIGRATIONS).catch(async error => {
    await database.close()
    throw error
  })
  const wake = new EventSignal(() => newestEventId(database.read), pollMs)
  const pages = new EventPageCache()
  const writer = new Writer({ database, clock, committed: () => wake.ring() })
  const close = async () => {
    const drained = writer.drain() // refuses inside a transaction, before anything is closed
    wake.close()
    await drained
    await database.close()
  }
  return {
    schema,
    edition: () => database.edition(),
    transaction: work => writer.transaction(work),
    share: work => writer.share(work),
    append: (events, tx) => writer.append(events, tx),
    follow: (after, options) => followEvents({ database, wake, pages }, after, options),
    events: query => queryEvents(database.read, query),
    sessions: openSessionStore({ read: database.read, writer, clock }),
    escalations: openEscalationStore(database.read),
    answers: openAnswerStore(database.read, writer),
    acceptedFiles: openAcceptedFileStore(database.read, writer),
    apiKeys: openApiKeyStore(database.read, writer),
    figures: openFigureStore(database.read),
    audit: openAuditStore(database.read, writer),
    apiReplies: openApiReplyStore(database.read, writer),
    tasks: openTaskStore(database),
    gates: openAccountGateStore(database.read),
    quota: openQuotaStore({ read: database.read, writer, clock }),
    runs: openRunStore(database.read, writer),
    schedules: openScheduleStore(database.read),
    journal: openJournalStore(database.read, database.differences),
    features: openFeatureStore(database.read, writer),
    worktrees: openWorktreeStore(database.read, writer),
    evidence: openEvidenceStore(database.read),
    gateResults: openGateResultStore(database.read, writer),
    merges: openMergeStore(database.read),
    spending: openSpendingStore(database.read),
    outbox: openOutboxStore(database.read, writer),
    webhooks: openWebhookStore(database.read, writer, () => syncLog(file)),
    observed: openObservedStore(database.read, writer),
    pruning: openEventPruning(database, writer),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Lets the newest commits survive a power cut too: without this they only survive the death of this process. */
async function syncLog(file: string): Promise<void> {
  const log = await openFile(`${file}-wal`, 'r').catch(() => undefined) // just emptied into the database, which is synced
  try {
    await log?.datasync()
  } finally {
    await log?.close()
  }
}
