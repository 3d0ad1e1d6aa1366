import { Alarm } from '../base/keyed-worker.ts'
import { loadConfig } from '../domain/config/load.ts'
import type { Report } from '../domain/report.ts'
import { ownZone } from '../domain/schedule.ts'
import { setUpOf } from '../human/notify/channel-setup.ts'
import type { NotifySettings } from '../human/notify/notice.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'
import { gatherReport } from '../supervisor/report/gather.ts'
import { nextScheduledTime, parseSince } from '../tasks/schedules.ts'
import { answerEscalation } from './answers.ts'
import { type DaemonContext, getTasks } from './context.ts'

interface NotificationOptions {
  env: Record<string, string | undefined>
  /** The event of this daemon's start. */
  since: number
  settings: NotifySettings
}

/** A change of settings is seen this soon; a thousand questions at once do not read them a thousand times. */
const FRESH_MS = 2_000

/** Tells people what happens until the daemon stops. Where no channel is set up nothing is loaded for it. Never throws. */
export async function runNotifications(
  daemon: DaemonContext,
  { env, since, settings }: NotificationOptions,
): Promise<void> {
  const { store, log, stopping, terminals } = daemon
  try {
    const { channels, problems } = setUpOf(settings, env)
    if (!settings.enabled || channels.length + problems.length === 0) return
    const { startNotifier } = await import('../human/notify/notifier.ts')
    await startNotifier({
      store,
      settings: settingsOf(daemon, env),
      env,
      since,
      log,
      signal: stopping,
      answer: async (number, said) => {
        await answerEscalation(number, { ...said, env: undefined }, daemon)
        log.info({ number, verdict: said.verdict, by: said.by }, 'decision answered')
      },
      ring: async text => {
        const called = terminals.attached().map(subject => {
          return { actor: 'daemon', subject, kind: 'person.called' as const, body: { text } }
        })
        await store.append(called)
      },
    })
  } catch (error) {
    if (!stopping.aborted) log.error({ error }, 'nobody is told what happens: notifications could not be started')
  }
}

/** The settings now, or a moment ago; a broken file leaves those that were read last. */
function settingsOf(
  { paths, log }: DaemonContext,
  env: NotificationOptions['env'],
): (project?: string) => Promise<NotifySettings> {
  const known = new Map<string, { at: number; settings: NotifySettings }>()
  return async (project = '') => {
    const found = known.get(project)
    if (found && Date.now() - found.at < FRESH_MS) return found.settings
    try {
      const trusted = project === '' ? undefined : trustedFile(await trustStatus(paths, project))
      const named = project === '' ? {} : { project, trusted }
      const { config } = await loadConfig({ paths, env, ...named })
      known.set(project, { at: Date.now(), settings: config.notifications })
      return config.notifications
    } catch (error) {
      const last = found ?? known.get('')
      if (!last) throw error
      log.warn({ project, error }, 'settings could not be read; notifications go by the last ones')
      return last.settings
    }
  }
}

export interface ReportAnnouncements {
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
export function announceReports(
  daemon: Pick<DaemonContext, 'store' | 'paths' | 'log' | 'quota'>,
  { env, since, now = Date.now }: ReportAnnouncements,
): Alarm {
  const { store, paths, log } = daemon
  let hour: { at: string | undefined; set: number } | undefined
  const look = async () => {
    const { report } = (await loadConfig({ paths, env })).config
    // An hour that was set just now is first due when it comes, not because it was earlier today.
    if (!hour || hour.at !== report.at) hour = { at: report.at, set: hour ? now() : -Infinity }
    if (report.at === undefined) return LOOK_MS
    const zone = ownZone()
    const [last] = await store.events({ subject: 'daemon', kinds: ['report.made'], tail: 1 })
    const [hours, minutes] = report.at.split(':').map(Number)
    // A clock that was ahead when the last one was made must not hold up the next.
    const before = Math.min(Math.max(last?.time ?? since, hour.set), now())
    const due = nextScheduledTime(`${minutes} ${hours} * * *`, zone, before) ?? Infinity
    if (due > now()) return Math.min(LOOK_MS, due - now())
    const until = now()
    const span = { since: Math.max(parseSince(report.since, zone, due), until - LONGEST_MS), until }
    const made = await gatherReport(span, { store, tasks: getTasks(daemon), quota: daemon.quota })
    await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'report.made', body: bodyOf(made) }])
    log.info({ done: made.done.length, failed: made.failed.length }, 'the report of the night is made')
    return LOOK_MS
  }
  const alarm = new Alarm({ look, failed: error => log.error({ error }, 'the report could not be made') })
  void alarm.poke()
  return alarm
}

function bodyOf({ since, until, done, failed, unfinished, waiting, not_begun, spent }: Report) {
  return {
    ...{ since, until, done: done.length, failed: failed.length, unfinished: unfinished.length },
    ...{ waiting: waiting.length, not_begun: not_begun.length, cost_usd: spent.cost_usd },
    titles: [...failed, ...done].slice(0, 10).map(({ title }) => title.slice(0, 200)),
  }
}
