import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { ownZone } from '../base/clock.ts'
import { Alarm } from '../base/keyed-worker.ts'
import { loadConfig } from '../domain/config/load.ts'
import { fillSecrets, namedSecrets } from '../domain/config/secret-references.ts'
import type { Report } from '../domain/report.ts'
import { readChannelSetup } from '../human/notify/channel-setup.ts'
import type { AnswerDecision, NotifySettings } from '../human/notify/notice.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'
import { gatherReport } from '../supervisor/report/gather.ts'
import { nextScheduledTime, parseSince } from '../tasks/schedules.ts'
import { answerEscalation } from './answers.ts'
import { type DaemonContext, findUntrusted, getTasks, readNeeds } from './context.ts'

interface NotificationOptions {
  env: Record<string, string | undefined>
  /** The event of this daemon's start. */
  since: number
  settings: NotifySettings
}

/** How long settings are reused: changes are seen soon, and a thousand questions at once do not read them a thousand times. */
const FRESH_MS = 2_000

/** How often channels with stored secrets are compared with what is stored now. A change by `pcc secrets` is seen at once. */
const COMPARE_MS = 30_000

/**
 * Sends notifications until the daemon stops. If no channel is set up, no code is loaded for it. Channels whose tokens are stored
 * secrets are opened again when one of these changes, or can be read at last. Never throws.
 */
export async function runNotifications(daemon: DaemonContext, options: NotificationOptions): Promise<void> {
  const { log, stopping } = daemon
  const hasSecrets = namedSecrets({ notifications: options.settings }).size > 0
  while (!stopping.aborted) {
    const changed = new AbortController()
    try {
      const settings = await fillNotifications(options.settings, daemon)
      using _watching = hasSecrets ? watchSecrets(settings, () => changed.abort(), { daemon, options }) : undefined
      const signal = AbortSignal.any([stopping, changed.signal])
      await notifyUntil(signal, daemon, { ...options, settings })
      if (hasSecrets && !signal.aborted) await once(signal, 'abort')
    } catch (error) {
      if (!stopping.aborted) log.error({ error }, 'notifications could not be started: nobody is notified')
    }
    if (!changed.signal.aborted) return
    log.info({}, 'the secrets of notifications have changed')
  }
}

async function fillNotifications(
  notifications: NotifySettings,
  { secrets }: Pick<DaemonContext, 'secrets'>,
): Promise<NotifySettings> {
  return (await fillSecrets({ notifications }, secrets)).notifications
}

/** Calls `changed` when the secrets of the channels are no longer those of `before`. */
function watchSecrets(
  before: NotifySettings,
  changed: () => void,
  { daemon, options }: { daemon: DaemonContext; options: NotificationOptions },
): Disposable {
  const compare = async () => {
    const now = await fillNotifications(options.settings, daemon)
    if (!isDeepStrictEqual(now, before)) changed()
  }
  const timer = setInterval(() => void compare(), COMPARE_MS).unref()
  const listening = daemon.secrets.onChange(() => void compare())
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      listening[Symbol.dispose]()
    },
  }
}

async function notifyUntil(
  signal: AbortSignal,
  daemon: DaemonContext,
  { env, since, settings }: NotificationOptions,
): Promise<void> {
  const { store, log, terminals } = daemon
  const { channels, problems } = readChannelSetup(settings, env)
  if (!settings.enabled || channels.length + problems.length === 0) return
  const { startNotifier } = await import('../human/notify/notifier.ts')
  await startNotifier({
    store,
    settings: openSettingsReader(daemon, env),
    env,
    since,
    log,
    signal,
    needs: () => readNeeds(daemon),
    answer: answerFromAfar(daemon),
    order: (text, by) => daemon.webhooks.order(text, by),
    isCalled: (await daemon.webhooks.read()).settings.telegram.secret !== undefined,
    ring: async text => {
      const calls = terminals.attached().map(subject => {
        return { actor: 'daemon', subject, kind: 'person.called' as const, body: { text } }
      })
      await store.append(calls)
    },
  })
}

/** Settles a decision that somebody answered in a chat. */
export function answerFromAfar(daemon: DaemonContext): AnswerDecision {
  return async (number, answer) => {
    await answerEscalation(number, { ...answer, env: undefined }, daemon)
    daemon.log.info({ number, verdict: answer.verdict, by: answer.by }, 'decision answered')
  }
}

/** Reads the settings, at most `FRESH_MS` old. If a file is broken, the settings that were read last stay in force. */
function openSettingsReader(
  { paths, log, secrets }: DaemonContext,
  env: NotificationOptions['env'],
): (project?: string) => Promise<NotifySettings> {
  const cache = new Map<string, { at: number; settings: NotifySettings }>()
  return async (project = '') => {
    const cached = cache.get(project)
    if (cached && Date.now() - cached.at < FRESH_MS) return cached.settings
    try {
      const trusted = project === '' ? undefined : trustedFile(await trustStatus(paths, project))
      const { config } = await loadConfig({ paths, env, project: project || null, trusted })
      const settings = await fillNotifications(config.notifications, { secrets })
      cache.set(project, { at: Date.now(), settings })
      return settings
    } catch (error) {
      const last = cached ?? cache.get('')
      if (!last) throw error
      log.warn({ project, error }, 'settings could not be read; notifications use the last ones')
      return last.settings
    }
  }
}

export interface ReportAnnouncements {
  env: Record<string, string | undefined>
  /** The time from which a first report can be due. */
  since: number
  now?: () => number
}

/** The longest time between two checks, however far the hour of the report is: the setting may change. */
const CHECK_EVERY_MS = 60_000
/** A late report covers its own night and what came after it, but no more than a long weekend. */
const LONGEST_SPAN_MS = 72 * 3_600_000

/**
 * Makes a report each day at `report.at`, as an event that is then sent as a notification. The last such event says which report
 * was made last, so a restart makes none twice, and a report that was due while no daemon ran is made by the next one at once.
 */
export function announceReports(
  daemon: Pick<DaemonContext, 'store' | 'paths' | 'log' | 'quota'>,
  { env, since, now = Date.now }: ReportAnnouncements,
): Alarm {
  const { store, paths, log } = daemon
  let hour: { at: string | undefined; set: number } | undefined
  const check = async () => {
    const { report } = (await loadConfig({ paths, env })).config
    // An hour that was set just now is due when it next comes, even if it is already past today.
    if (!hour || hour.at !== report.at) hour = { at: report.at, set: hour ? now() : -Infinity }
    if (report.at === undefined) return CHECK_EVERY_MS
    const zone = ownZone()
    const [last] = await store.events({ subject: 'daemon', kinds: ['report.made'], tail: 1 })
    const [hours, minutes] = report.at.split(':').map(Number)
    // If the clock was ahead when the last report was made, that must not delay the next one.
    const before = Math.min(Math.max(last?.time ?? since, hour.set), now())
    const due = nextScheduledTime(`${minutes} ${hours} * * *`, zone, before) ?? Infinity
    if (due > now()) return Math.min(CHECK_EVERY_MS, due - now())
    const until = now()
    const span = { since: Math.max(parseSince(report.since, zone, due), until - LONGEST_SPAN_MS), until }
    const made = await gatherReport(span, {
      ...{ store, tasks: getTasks(daemon), quota: daemon.quota },
      untrusted: project => findUntrusted(paths, project),
    })
    await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'report.made', body: summarise(made) }])
    log.info({ done: made.done.length, failed: made.failed.length }, 'the daily report is made')
    return CHECK_EVERY_MS
  }
  const alarm = new Alarm({ look: check, failed: error => log.error({ error }, 'the report could not be made') })
  void alarm.poke()
  return alarm
}

function summarise({ since, until, done, failed, unfinished, waiting, not_begun, spent }: Report) {
  return {
    ...{ since, until, done: done.length, failed: failed.length, unfinished: unfinished.length },
    ...{ waiting: waiting.length, not_begun: not_begun.length, cost_usd: spent.cost_usd },
    titles: [...failed, ...done].slice(0, 10).map(({ title }) => title.slice(0, 200)),
  }
}
