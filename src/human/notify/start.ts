import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Log, silentLog } from '../../base/log.ts'
import type { Store } from '../../store/store.ts'
import { type Delivery, deliver } from './deliver.ts'
import type { AnswerDecision, NotifySettings } from './notice.ts'
import { openChannel } from './open-channel.ts'
import { setUpOf } from './set-up.ts'
import { watchEvents } from './watch.ts'

const KEPT_MS = 30 * 24 * 60 * 60_000
const AGAIN_MS = 5_000

export interface Notifier {
  store: Store
  /** The settings as they are now; those of a project may switch kinds off. */
  settings(project?: string): Promise<NotifySettings>
  env: Record<string, string | undefined>
  /** The event after which is news, where none were ever told. */
  since: number
  answer: AnswerDecision
  ring(text: string): Promise<void>
  log?: Log
  clock?: Clock
  signal: AbortSignal
  times?: Delivery['times']
}

/** Tells people what happens, on every channel that is set up, until the signal ends it. Never throws. */
export async function startNotifier(notifier: Notifier): Promise<void> {
  const { store, env, signal, clock = systemClock, log = silentLog, times } = notifier
  const settings = await notifier.settings()
  const { channels, problems, secrets } = setUpOf(settings, env)
  for (const { channel, problem } of problems) log.warn({ channel, problem }, 'notification channel is not set up')
  if (channels.length === 0 || !settings.enabled) return
  const unhide = log.hide(secrets)
  await store.outbox.prune(clock.now() - KEPT_MS)
  const bells = new Set<() => void>()
  const news = (until: AbortSignal) =>
    new Promise<void>(resolve => {
      const wake = () => {
        bells.delete(wake)
        until.removeEventListener('abort', wake)
        resolve()
      }
      bells.add(wake)
      until.addEventListener('abort', wake, { once: true })
      if (until.aborted) wake()
    })
  const added = () => {
    for (const wake of [...bells]) wake()
  }
  const { since } = notifier
  const watching = { store, channels, settingsFor: notifier.settings, since, hidden: secrets, clock, signal, added }
  const works = [keepOn(() => watchEvents(watching), 'events could not be followed', notifier)]
  for (const name of channels) {
    const channel = await openChannel(name, { settings, env, ring: notifier.ring })
    const delivery = { channel, store, settings: notifier.settings, news, clock, log, signal }
    works.push(deliver({ ...delivery, ...(times ? { times } : {}) }))
  }
  if (channels.includes('telegram')) {
    const { telegramBot } = await import('./telegram/bot.ts')
    const { answersFromTelegram } = await import('./telegram/answers.ts')
    const bot = telegramBot(settings.telegram, env)
    works.push(answersFromTelegram({ bot, store, answer: notifier.answer, log, signal }))
  }
  log.info({ channels }, 'people are told what happens')
  await Promise.all(works)
  unhide()
}

/** Begins anew after a failure: the disk may be full for a while. */
async function keepOn(
  work: () => Promise<void>,
  problem: string,
  { log = silentLog, signal }: Notifier,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) log.error({ error }, problem)
    }
    await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined) // the daemon stops
  }
}
