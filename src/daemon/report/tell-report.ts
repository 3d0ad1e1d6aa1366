import { loadConfig } from '../../domain/config/load.ts'
import type { Report } from '../../domain/report/report.ts'
import { ownZone } from '../../domain/schedules/own-zone.ts'
import { gatherReport } from '../../supervisor/report/gather.ts'
import { Alarm } from '../../supervisor/waits/alarm.ts'
import { sinceOf } from '../../tasks/schedules/since.ts'
import { nextTime } from '../../tasks/schedules/when.ts'
import { tasksOf } from '../routes/tasks-of.ts'
import type { World } from '../world.ts'

export interface TellReport {
  env: Record<string, string | undefined>
  /** From when on a first report can be due. */
  since: number
  now?: () => number
}

/** However far the hour is: it may be set to another one. */
const LOOK_MS = 60_000
/** One that comes late tells of its own night and of what came after it, but of no more than a long weekend. */
const LONGEST_MS = 72 * 3_600_000

/**
 * Makes the report of `report.at` each day, as an event that the notifications tell. The last event says which was made, so
 * that a restart makes none twice, and one whose hour passed while no daemon was there comes as soon as one is.
 */
export function tellReports(
  world: Pick<World, 'store' | 'places' | 'log' | 'quota'>,
  { env, since, now = Date.now }: TellReport,
): Alarm {
  const { store, places, log } = world
  let hour: { at: string | undefined; set: number } | undefined
  const look = async () => {
    const { report } = (await loadConfig({ places, env })).config
    // An hour that was set just now is first due when it comes, not because it was earlier today.
    if (!hour || hour.at !== report.at) hour = { at: report.at, set: hour ? now() : -Infinity }
    if (report.at === undefined) return LOOK_MS
    const zone = ownZone()
    const [last] = await store.events({ subject: 'daemon', kinds: ['report.made'], tail: 1 })
    const [hours, minutes] = report.at.split(':').map(Number)
    // A clock that was ahead when the last one was made must not hold up the next.
    const before = Math.min(Math.max(last?.time ?? since, hour.set), now())
    const due = nextTime(`${minutes} ${hours} * * *`, zone, before) ?? Infinity
    if (due > now()) return Math.min(LOOK_MS, due - now())
    const until = now()
    const span = { since: Math.max(sinceOf(report.since, zone, due), until - LONGEST_MS), until }
    const made = await gatherReport(span, { store, tasks: tasksOf(world), quota: world.quota })
    await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'report.made', body: bodyOf(made) }])
    log.info({ done: made.done.length, failed: made.failed.length }, 'the report of the night is made')
    return LOOK_MS
  }
  const alarm = new Alarm({ look, failed: error => log.error({ error }, 'the report could not be made') })
  alarm.poke()
  return alarm
}

function bodyOf({ since, until, done, failed, unfinished, waiting, not_begun, spent }: Report) {
  return {
    ...{ since, until, done: done.length, failed: failed.length, unfinished: unfinished.length },
    ...{ waiting: waiting.length, not_begun: not_begun.length, cost_usd: spent.cost_usd },
    titles: [...failed, ...done].slice(0, 10).map(({ title }) => title.slice(0, 200)),
  }
}
