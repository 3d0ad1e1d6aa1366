import type { Clock } from '../../base/clock.ts'
import { AppError, messageOf, PASSING_CODES } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { Alarm } from '../../base/keyed-worker.ts'
import type { Log } from '../../base/log.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/layers.ts'
import type { StartRun } from '../../domain/run.ts'
import type { SetSchedule } from '../../domain/schedule.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { RunRow, ScheduleRow } from '../../store/tables.ts'
import { nextScheduledTime, parseScheduleTimes } from '../../tasks/schedules.ts'
import { formatSchedule } from '../../tasks/view.ts'
import { checkProject } from '../context.ts'
import type { KeptEnvironments } from '../session/kept-environments.ts'
import { targetName } from './next-step.ts'

export interface CalendarDeps {
  store: Store
  clock: Clock
  log: Log
  kept: KeptEnvironments
  /** The agents' environment where the caller's was not kept. */
  agentEnv: Record<string, string>
  keepsEnvironment(run: Pick<RunRow, 'project' | 'options'>): Promise<boolean>
  start(request: StartRun, also: (run: RunRow, tx: Tx) => Promise<void>): Promise<RunRow>
  /** How full the account is that a run would use, 0 to 1; undefined if that is unknown. */
  fullness(request: StartRun): Promise<number | undefined>
}

/** The wait before a quota that is too full is checked again. */
const QUOTA_CHECK_MS = 60_000
/** Clocks are corrected by a few seconds all the time. */
const CLOCK_TOLERANCE_MS = 60_000

/** Begins runs at their times. The times are rows: a time that passed without a daemon is served as soon as one starts. */
export class Calendar {
  readonly #deps: CalendarDeps
  readonly #alarm: Alarm

  constructor(deps: CalendarDeps) {
    this.#deps = deps
    const failed = (error: unknown) => deps.log.error({ error }, 'could not look for runs to begin')
    this.#alarm = new Alarm({ look: () => this.#beginDue(), failed })
  }

  /** Resolves when every due run has begun. */
  look(): Promise<void> {
    return this.#alarm.poke()
  }

  close(): Promise<void> {
    return this.#alarm.close()
  }

  /** Refused where the same schedule exists already. */
  async set({ when, env, project: path, target, settings, ...rest }: SetSchedule): Promise<ScheduleRow> {
    const { store, clock, kept } = this.#deps
    const project = await checkProject(path)
    const options = { ...rest, ...(settings && { settings: settingsToKeep(settings) }) }
    const onDisk = await this.#deps.keepsEnvironment({ project, options: { ...rest, ...(settings && { settings }) } })
    const now = clock.now()
    const row: ScheduleRow = {
      ...{ id: shortId('c'), project, target, options, state: 'waiting', created_at: now },
      ...{ at: when.at ?? null, every: when.every ?? null, quota_below: when.quota_below ?? null, zone: when.zone },
      ...{ ...parseScheduleTimes(when, now), reason: null, fired: 0, last_fired_at: null, last_run_id: null },
    }
    await store.transaction(async tx => {
      const same = (await store.schedules.list({ project, waiting: true }, tx)).find(other => isSame(other, row))
      if (same) throw new AppError('schedule_there', { id: same.id, when: formatSchedule(same) })
      await store.schedules.insert(row, tx)
      const body = { project, target: targetName(target), when: formatSchedule(row), due_at: row.due_at ?? now }
      await tx.append([{ actor: 'cli', subject: row.id, kind: 'schedule.set', body }])
    })
    kept.keep(row.id, { ...env, ...brainKeysIn(settings ?? {}) }, { onDisk })
    void this.look()
    return row
  }

  /** A person cancels the schedule. */
  async cancel(id: string): Promise<ScheduleRow> {
    const { store, kept } = this.#deps
    const row = await store.transaction(async tx => {
      const found = await store.schedules.get(id, tx)
      if (!found) throw new AppError('schedule_unknown', { ref: id })
      const patch = { state: 'cancelled', due_at: null, reason: 'cancelled by a person' } as const
      if (!(await store.schedules.move(found, patch, tx)))
        throw new AppError('schedule_over', { id, state: found.state })
      await tx.append([{ actor: 'human', subject: id, kind: 'schedule.cancelled', body: { reason: patch.reason } }])
      return { ...found, ...patch }
    })
    kept.forget(id)
    return row
  }

  async #beginDue(): Promise<number | undefined> {
    const { store, clock } = this.#deps
    for (const row of await store.schedules.list({ waiting: true })) {
      if (this.#alarm.closed) return undefined
      await this.#correctFutureTime(row)
      if ((row.due_at ?? 0) <= clock.now()) await this.#begin(row)
    }
    const now = clock.now()
    const waits = (await store.schedules.list({ waiting: true })).map(({ due_at }) => (due_at ?? now) - now)
    return waits.length === 0 ? undefined : Math.min(...waits.map(wait => (wait <= 0 ? QUOTA_CHECK_MS : wait)))
  }

  /** A schedule that last fired in the future was written by a clock that was ahead: its next time is computed anew. */
  async #correctFutureTime(row: ScheduleRow): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    if (row.pattern === null || (row.last_fired_at ?? 0) <= now + CLOCK_TOLERANCE_MS) return
    const patch = { due_at: nextScheduledTime(row.pattern, row.zone, now) ?? null, last_fired_at: now }
    if (await store.transaction(tx => store.schedules.move(row, patch, tx))) Object.assign(row, patch)
  }

  async #begin(row: ScheduleRow): Promise<void> {
    const { log, kept, agentEnv } = this.#deps
    const { project, target, options } = row
    const request = { ...options, project, target, env: kept.of(row.id) ?? agentEnv }
    try {
      const fullQuota = await this.#describeFullQuota(row, request)
      if (fullQuota !== undefined) {
        await this.#hold(row, fullQuota)
        return
      }
      const run = await this.#deps.start(request, (run, tx) => this.#fire(row, run, tx))
      log.info({ schedule: row.id, run: run.id }, 'a scheduled run begins')
      if (row.pattern === null) kept.forget(row.id)
    } catch (error) {
      if (error instanceof AppError && error.code === 'schedule_over') return // cancelled in the same moment
      const isPassing = !(error instanceof AppError) || PASSING_CODES.has(error.code)
      log.warn(
        { schedule: row.id, error },
        isPassing ? 'a scheduled run cannot begin yet' : 'a scheduled run is skipped',
      )
      if (!isPassing) await this.#skip(row, messageOf(error))
      else await this.#hold(row, `cannot begin yet: ${messageOf(error)}`)
    }
  }

  /** The schedule stays due, with the reason for people to see. */
  async #hold(row: ScheduleRow, reason: string): Promise<void> {
    const { store } = this.#deps
    if (reason !== row.reason) await store.transaction(tx => store.schedules.move(row, { reason }, tx))
  }

  async #describeFullQuota({ quota_below }: ScheduleRow, request: StartRun): Promise<string | undefined> {
    if (quota_below === null) return undefined
    const full = await this.#deps.fullness(request)
    if (full === undefined || full * 100 < quota_below) return undefined
    return `waits for the quota: ${Math.round(full * 100)} % used, to begin below ${quota_below} %`
  }

  /** Runs in the transaction that creates the run: either the run exists for this time, or the schedule is still due. */
  async #fire(row: ScheduleRow, run: RunRow, tx: Tx): Promise<void> {
    const { store, clock } = this.#deps
    const next_at = this.#nextTime(row)
    const patch = { last_run_id: run.id, last_fired_at: clock.now(), fired: row.fired + 1, reason: null }
    if (!(await store.schedules.move(row, { ...patch, ...statePatch(next_at) }, tx)))
      throw new AppError('schedule_over', { id: row.id, state: 'over' })
    const body = { run_id: run.id, due_at: row.due_at ?? 0, next_at }
    await tx.append([{ actor: 'daemon', subject: row.id, kind: 'schedule.fired', body }])
  }

  /** Records that the schedule's time has passed without a run. */
  async #skip(row: ScheduleRow, why: string): Promise<void> {
    const { store, kept } = this.#deps
    const next_at = this.#nextTime(row)
    const reason = `no run began: ${why}`
    await store.transaction(async tx => {
      if (!(await store.schedules.move(row, { reason, ...statePatch(next_at) }, tx))) return
      const body = { reason, due_at: row.due_at ?? 0, next_at }
      await tx.append([{ actor: 'daemon', subject: row.id, kind: 'schedule.skipped', body }])
    })
    if (next_at === null) kept.forget(row.id)
  }

  /** The next time is also after the row's own time: a clock that was set back must not give the same time again. */
  #nextTime({ pattern, zone, due_at }: ScheduleRow): number | null {
    const now = this.#deps.clock.now()
    return pattern === null ? null : (nextScheduledTime(pattern, zone, Math.max(now, due_at ?? now)) ?? null)
  }
}

function statePatch(next: number | null): Partial<ScheduleRow> {
  return { due_at: next, state: next === null ? 'over' : 'waiting' }
}

/** Whether two schedules begin the same tasks at the same time; their other options do not count. */
function isSame(one: ScheduleRow, other: ScheduleRow): boolean {
  const timeOf = ({ pattern, due_at, at }: ScheduleRow) => pattern ?? (at === null ? 'now' : due_at)
  return (
    targetName(one.target) === targetName(other.target) &&
    timeOf(one) === timeOf(other) &&
    one.zone === other.zone &&
    one.quota_below === other.quota_below
  )
}
