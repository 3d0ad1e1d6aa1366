import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Registry } from 'prom-client'
import { sessionMarker } from '../../base/process/marker.ts'
import { findCarriedMarkers } from '../../base/process/process-table.ts'
import type { SessionState } from '../../domain/api.ts'
import { LIVE_STATUS, SessionStatus } from '../../domain/api.ts'
import { AttemptOutcome } from '../../domain/attempt.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { AUTOMATIC_DECIDERS, isAutomatic } from '../../domain/deciders.ts'
import { Escalation } from '../../domain/escalation.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { WINDOWS } from '../../domain/option-values.ts'
import { isCurrent, levelOf, QuotaLevel, type QuotaWindow } from '../../domain/quota.ts'
import { FailureKind, Risk } from '../../domain/session.ts'
import { TaskState } from '../../domain/task.ts'
import type { RowCounts, StoreFigures } from '../../store/store.ts'
import type { DaemonContext, Metrics } from '../context.ts'

/** The event loop is looked at ten times a second: often enough for delays that somebody notices, and next to no work. */
const LOOP_RESOLUTION_MS = 100
/** Finding orphans reads every process of the machine. */
const ORPHANS_EVERY_MS = 60_000
/** No label has more values than this, whatever vendors say. */
const MOST_ACCOUNTS = 50

/** Opens the metrics and begins to count what happens. Labels are words of ours with few values: no path, name or text is ever one. */
export async function openMetrics(daemon: DaemonContext): Promise<Metrics> {
  const all = new Registry()
  const figures = makeFigures(all)
  const happened = makeCounters(all)
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  loop.enable()
  const closing = new AbortController()
  const [newest] = await daemon.store.events({ tail: 1 })
  const counted = { id: newest?.id ?? 0 }
  const counting = countEvents(daemon, { counted, happened, signal: closing.signal })
  const orphans = watchOrphans(daemon)
  figures.info.set({ version: daemon.version }, 1)
  figures.started.set(daemon.startedAt / 1000)
  return {
    async scrape() {
      const began = performance.now()
      const read = await daemon.store.figures.read()
      figures.storeRead.set((performance.now() - began) / 1000)
      const asked = performance.now()
      await daemon.store.transaction(() => undefined)
      figures.storeWrite.set((performance.now() - asked) / 1000)
      showRows(read, figures, Date.now())
      await showAccounts(daemon, figures)
      showLoop(loop, figures)
      figures.orphans.set(orphans.look())
      await counting.caughtUp()
      return { type: all.contentType, text: await all.metrics() }
    },
    async [Symbol.asyncDispose]() {
      loop.disable()
      closing.abort()
      await counting.done
    },
  }
}

/** Numbers that are read with each scrape. */
function makeFigures(registry: Registry) {
  const registers = [registry]
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `pcc_${name}`, help, labelNames, registers })
  const total = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `pcc_${name}_total`, help, labelNames, registers })
  return {
    info: gauge('info', 'The version of the daemon', ['version']),
    started: gauge('start_time_seconds', 'When the daemon started, in seconds since 1970'),
    sessions: gauge('sessions', 'Sessions by status', ['status']),
    tasks: gauge('tasks', 'Tasks by state', ['state']),
    attempts: total('attempts', 'Closed attempts by outcome, since the store was made', ['outcome']),
    queueAge: gauge('queue_head_age_seconds', 'Age of the oldest task that is taken next in its project'),
    waiting: gauge('escalations_waiting', 'Decisions that wait for a person, by kind', ['kind']),
    waitingAge: gauge('escalation_oldest_age_seconds', 'Age of the oldest decision that waits for a person'),
    incidents: gauge('incidents_open', 'Recoveries that failed after their retries and wait for a person'),
    merging: gauge('merges_open', 'Merges under way'),
    tokens: total('tokens', 'Tokens used, since the store was made'),
    cost: total('cost_usd', 'US dollars spent, since the store was made'),
    turns: total('turns', 'Turns of agents, since the store was made'),
    quota: gauge('quota_used_ratio', 'Used share of a window of an account', ['account', 'window', 'source']),
    level: gauge('quota_level', 'Whether an account is at this level', ['account', 'level']),
    closed: gauge('account_closed', 'Whether an account may not call the model', ['account', 'why']),
    loopDelay: gauge('event_loop_delay_seconds', 'Delay of the event loop since the last scrape', ['percentile']),
    storeRead: gauge('store_read_seconds', 'Time to read the numbers of this scrape'),
    storeWrite: gauge('store_write_wait_seconds', 'Time until a write can begin and end'),
    orphans: gauge('orphan_processes', 'Ended sessions of which some process still runs'),
  }
}

/** What is counted from the first scrape on. */
function makeCounters(registry: Registry) {
  const total = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `pcc_${name}_total`, help, labelNames, registers: [registry] })
  const counters = {
    verdicts: total('verdicts', 'Decided requests', ['verdict', 'risk', 'decider']),
    failures: total('session_failures', 'Sessions that ended by a failure', ['failure']),
    limits: total('limits', 'Limits of vendors that were hit'),
    landed: total('merges', 'Tasks whose work reached its target'),
    heldUp: total('merges_held_up', 'Merges that a person has to look at'),
  }
  // A rate of something that happened once needs the zero before it.
  for (const failure of FailureKind.options) counters.failures.inc({ failure }, 0)
  for (const verdict of ['allow', 'deny'])
    for (const risk of Risk.options)
      for (const decider of [...AUTOMATIC_DECIDERS, 'person']) counters.verdicts.inc({ verdict, risk, decider }, 0)
  return counters
}

type Figures = ReturnType<typeof makeFigures>
type Counters = ReturnType<typeof makeCounters>

function showRows(read: StoreFigures, figures: Figures, now: number): void {
  for (const state of TaskState.options) figures.tasks.set({ state }, read.tasks[state] ?? 0)
  const statuses = countStatuses(read)
  for (const status of SessionStatus.options) figures.sessions.set({ status }, statuses[status] ?? 0)
  figures.attempts.reset()
  for (const outcome of AttemptOutcome.options) figures.attempts.inc({ outcome }, read.attempts[outcome] ?? 0)
  figures.queueAge.set(ageOf(read.heads, now))
  for (const kind of Escalation.shape.kind.options)
    figures.waiting.set({ kind }, read.escalations.find(row => row.kind === kind)?.count ?? 0)
  figures.waitingAge.set(
    ageOf(
      read.escalations.map(({ oldest }) => oldest),
      now,
    ),
  )
  figures.incidents.set(read.incidents)
  figures.merging.set(read.merging)
  const { tokens, cost_usd, turns } = read.spent
  for (const [counter, value] of [
    [figures.tokens, tokens],
    [figures.cost, cost_usd],
    [figures.turns, turns],
  ] as const) {
    counter.reset()
    counter.inc(value)
  }
}

function countStatuses({ sessions, ended_sessions }: StoreFigures): RowCounts {
  const counts: RowCounts = { ...ended_sessions }
  for (const [state, count = 0] of Object.entries(sessions)) {
    if (state === 'ended') continue
    const status = LIVE_STATUS[state as Exclude<SessionState, 'ended'>]
    counts[status] = (counts[status] ?? 0) + count
  }
  return counts
}

function ageOf(times: readonly number[], now: number): number {
  return times.length === 0 ? 0 : Math.max(0, now - Math.min(...times)) / 1000
}

/** How full the accounts are, by what is stored: a scrape asks no other program. An account is named by its hash. */
async function showAccounts({ store, paths, agentEnv }: DaemonContext, figures: Figures): Promise<void> {
  // An account is used by the sessions of several projects.
  const { quota: settings } = (await loadConfig({ paths, env: agentEnv, project: null })).config
  const { notice_percent: notice, warning_percent: warning, critical_percent: critical } = settings
  const now = Date.now()
  const [windows, gates] = await Promise.all([store.quota.windows(), store.gates.list()])
  for (const metric of [figures.quota, figures.level, figures.closed]) metric.reset()
  const accounts = Map.groupBy(windows, ({ account }) => account)
  for (const [account, all] of [...accounts].slice(0, MOST_ACCOUNTS)) {
    const current = all.filter(window => isCurrent(window, now))
    for (const { window, source, utilization } of current)
      figures.quota.set({ account, window: nameWindow(window), source }, utilization)
    const level = levelOf(current satisfies QuotaWindow[], { notice, warning, critical }, now)
    for (const name of QuotaLevel.options) figures.level.set({ account, level: name }, name === level ? 1 : 0)
  }
  for (const { account, closed_until, held } of gates.slice(0, MOST_ACCOUNTS)) {
    figures.closed.set({ account, why: 'limit' }, closed_until !== null && closed_until > now ? 1 : 0)
    figures.closed.set({ account, why: 'held' }, held ? 1 : 0)
  }
}

function nameWindow(window: string): string {
  return Object.hasOwn(WINDOWS, window) ? window : 'other'
}

const NANOSECONDS = 1e9

function showLoop(loop: ReturnType<typeof monitorEventLoopDelay>, { loopDelay }: Figures): void {
  // The first figure of the histogram is the time between two looks, which is no delay.
  const delay = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - LOOP_RESOLUTION_MS / 1000)
  const isEmpty = loop.count === 0
  loopDelay.set({ percentile: '50' }, isEmpty ? 0 : delay(loop.percentile(50)))
  loopDelay.set({ percentile: '99' }, isEmpty ? 0 : delay(loop.percentile(99)))
  loopDelay.set({ percentile: '100' }, isEmpty ? 0 : delay(loop.max))
  loop.reset()
}

/** Sessions that have ended while a process with their marker runs; looked at now and then, after the scrape. */
function watchOrphans({ store, log }: DaemonContext): { look(): number } {
  let [found, lookedAt] = [0, 0]
  const search = async () => {
    const ended = (await store.sessions.list({ only: 'marked' })).filter(
      row => row.state === 'ended' && row.options.host !== 'tmux',
    )
    const markers = ended.map(({ marker }) => sessionMarker(marker ?? ''))
    found = markers.length === 0 ? 0 : findCarriedMarkers(markers).size
  }
  return {
    look() {
      const now = performance.now()
      if (lookedAt === 0 || now - lookedAt > ORPHANS_EVERY_MS) {
        lookedAt = now
        setImmediate(() => void search().catch(error => log.warn({ error }, 'orphans could not be counted')))
      }
      return found
    },
  }
}

function countEvent({ kind, body }: StoredEvent, happened: Counters): void {
  if (kind === 'permission.decided')
    happened.verdicts.inc({ verdict: body.verdict, risk: body.risk, decider: nameDecider(body.by) })
  else if (kind === 'session.ended' && body.failure !== undefined) happened.failures.inc({ failure: body.failure })
  else if (kind === 'limit.hit') happened.limits.inc()
  else if (kind === 'merge.landed') happened.landed.inc()
  else if (kind === 'merge.held_up') happened.heldUp.inc()
}

/** People and keys have names, which are no labels. */
function nameDecider(by: string): string {
  return isAutomatic(by) ? (by.split(':', 1)[0] ?? by) : 'person'
}

interface Counting {
  counted: { id: number }
  happened: Counters
  signal: AbortSignal
}

/** Counts events as they come. A scrape waits for those that were stored before it, but not for long. */
function countEvents({ store, log }: DaemonContext, { counted, happened, signal }: Counting) {
  const passed = new Set<() => void>()
  const follow = async () => {
    for await (const event of store.follow(counted.id, { signal, alone: true })) {
      countEvent(event, happened)
      counted.id = event.id
      for (const check of passed) check()
    }
  }
  const done = follow().catch(error => log.error({ error }, 'events are no longer counted for metrics'))
  return {
    done,
    async caughtUp(): Promise<void> {
      const [last] = await store.events({ tail: 1 })
      const until = last?.id ?? 0
      if (counted.id >= until || signal.aborted) return
      await new Promise<void>(resolve => {
        const timer = setTimeout(finish, CATCH_UP_MS)
        const check = () => counted.id >= until && finish()
        function finish() {
          clearTimeout(timer)
          passed.delete(check)
          resolve()
        }
        passed.add(check)
      })
    },
  }
}

const CATCH_UP_MS = 500
