import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, DAY_MS, systemClock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { type Log, silentLog } from '../../base/log.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Needs } from '../../domain/needs.ts'
import type { ChannelName } from '../../domain/option-values.ts'
import { projectOfSubject, type SubjectTables } from '../../store/events.ts'
import type { Store } from '../../store/store.ts'
import { buildNotices } from './build-notices.ts'
import { readChannelSetup } from './channel-setup.ts'
import { type Delivery, deliver } from './deliver.ts'
import { mayChangeNeeds, NEED_KEYS, needNotices } from './need-notices.ts'
import type { AnswerDecision, Notice, NotifySettings } from './notice.ts'
import { openChannel } from './open-channel.ts'
import type { TelegramAnswers } from './telegram.ts'

const KEEP_MS = 30 * DAY_MS
const RETRY_MS = 5_000

export interface Notifier {
  store: Store
  /** The current settings; those of a project may switch kinds of notices and their sound off. */
  settings(project?: string): Promise<NotifySettings>
  env: Record<string, string | undefined>
  /** The event to start after, if no notice was ever sent. */
  since: number
  answer: AnswerDecision
  /** Does what somebody orders in a chat. */
  order?: TelegramAnswers['order']
  /** Telegram calls a webhook of ours, so it is not asked. */
  isCalled?: boolean
  /** All that waits for a person now. */
  needs?: (() => Promise<Needs>) | undefined
  ring(text: string): Promise<void>
  log?: Log
  clock?: Clock
  signal: AbortSignal
  times?: Delivery['times']
}

/** Sends notices on every channel that is set up, until the signal ends it. Never throws. */
export async function startNotifier(notifier: Notifier): Promise<void> {
  const { store, env, signal, clock = systemClock, log = silentLog, times } = notifier
  const settings = await notifier.settings()
  const { channels, problems, secrets } = readChannelSetup(settings, env)
  for (const { channel, problem } of problems) log.warn({ channel, problem }, 'notification channel is not set up')
  if (channels.length === 0 || !settings.enabled) return
  const unhide = log.hide(secrets)
  await store.outbox.prune(clock.now() - KEEP_MS)
  const wakers = new Set<() => void>()
  const news = (until: AbortSignal) =>
    new Promise<void>(resolve => {
      const wake = () => {
        wakers.delete(wake)
        until.removeEventListener('abort', wake)
        resolve()
      }
      wakers.add(wake)
      until.addEventListener('abort', wake, { once: true })
      if (until.aborted) wake()
    })
  const added = () => {
    for (const wake of [...wakers]) wake()
  }
  const { since, needs } = notifier
  const watching = {
    needs,
    store,
    channels,
    settingsFor: notifier.settings,
    since,
    hidden: secrets,
    clock,
    signal,
    added,
  }
  const jobs = [keepRunning(() => watchEvents(watching), 'events could not be followed', notifier)]
  for (const name of channels) {
    const channel = await openChannel(name, { settings, env, ring: notifier.ring })
    const delivery = { channel, store, settings: notifier.settings, news, clock, log, signal }
    jobs.push(deliver({ ...delivery, ...(times ? { times } : {}) }))
  }
  if (channels.includes('telegram') && !notifier.isCalled) {
    const { receiveTelegramAnswers, telegramBot } = await import('./telegram.ts')
    const bot = telegramBot(settings.telegram, env)
    jobs.push(
      receiveTelegramAnswers({
        bot,
        store,
        answer: notifier.answer,
        log,
        signal,
        hidden: secrets,
        order: notifier.order,
      }),
    )
  }
  log.info({ channels }, 'people are told what happens')
  await Promise.all(jobs)
  unhide()
}

/** Starts the job again after a failure: the disk may be full for a while. */
async function keepRunning(
  job: () => Promise<void>,
  problem: string,
  { log = silentLog, signal }: Notifier,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await job()
    } catch (error) {
      if (!signal.aborted) log.error({ error }, problem)
    }
    await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined) // the daemon stops
  }
}

const CURSOR = 'notifications'
/** Events without a notice move the cursor only every so many ids: reading them again costs nothing. */
const CURSOR_STEP = 1_000
/** After a long time without notifications, older events are no news, except decisions that still wait. */
const STALE_MS = DAY_MS

export interface WatchEvents {
  store: Pick<Store, 'outbox' | 'follow' | 'transaction' | 'escalations' | 'events'> & SubjectTables
  channels: readonly ChannelName[]
  /** The switches for a project, by its directory. */
  settingsFor(project: string | undefined): Promise<Pick<NotifySettings, Switch>>
  needs: (() => Promise<Needs>) | undefined
  /** The event to start after the first time. */
  since: number
  hidden: readonly string[]
  clock: Clock
  signal: AbortSignal
  /** Called when a notice was added to the outbox. */
  added(): void
}

type Switch = 'enabled' | 'on_question' | 'on_complete' | 'on_rate_limit' | 'on_error' | 'on_report'

/** Follows the events from where it stopped last and puts notices into the outbox, each once per channel. */
async function watchEvents(watch: WatchEvents): Promise<void> {
  const { store, since, signal } = watch
  const cursor = await store.outbox.cursor(CURSOR)
  // The cursor is saved at once: if this daemon dies before the first notice, the next one starts from the same event.
  if (cursor === undefined) await store.outbox.moveCursor(CURSOR, since)
  let saved = cursor ?? since
  for await (const event of store.follow(saved, { signal, alone: true })) {
    if (await take(event, watch)) saved = event.id
    else if (event.id - saved >= CURSOR_STEP) {
      await store.outbox.moveCursor(CURSOR, event.id)
      saved = event.id
    }
  }
}

/** Returns whether the cursor was moved past the event. */
async function take(event: StoredEvent, watch: WatchEvents): Promise<boolean> {
  const { store, clock } = watch
  if (event.kind === 'escalation.answered') {
    // If the same number is opened again, it is news again.
    await store.transaction(async tx => {
      await store.outbox.forget(keyOf(event.body.number), tx)
      await store.outbox.moveCursor(CURSOR, event.id, tx)
    })
    return true
  }
  const isStale = clock.now() - event.time > STALE_MS
  const notices = (await buildNotices(event, watch)).filter(({ decision }) => decision || !isStale)
  const needs = watch.needs && mayChangeNeeds(event) ? await needNotices(await watch.needs(), watch) : undefined
  if (notices.length === 0 && !needs) return false
  const project = event.kind === 'agent.notified' ? event.body.project : await projectOfSubject(store, event.subject)
  const all = [...notices.map(notice => ({ notice, project })), ...(needs ?? [])]
  const wanted: Notice[] = []
  for (const { notice, project: of } of all) {
    const settings = await watch.settingsFor(of)
    if (settings.enabled && settings[`on_${notice.kind}`]) wanted.push({ ...notice, project: of })
  }
  const isNew = await store.transaction(async tx => {
    crashPoint('outbox.before-add')
    let added = false
    // A need that is over is not sent any more. If it returns, it is sent as new.
    if (needs) await store.outbox.settleOthers(NEED_KEYS, new Set(needs.map(({ notice }) => notice.key)), tx)
    for (const notice of wanted) {
      for (const channel of channelsFor(notice, watch.channels)) {
        const now = clock.now()
        const row = { channel, kind: notice.kind, dedup_key: notice.key, body: JSON.stringify(notice), next_at: now }
        if (await store.outbox.add({ ...row, created_at: now }, tx)) added = true
      }
    }
    await store.outbox.moveCursor(CURSOR, event.id, tx)
    return added
  })
  if (isNew) watch.added()
  return true
}

function channelsFor({ bellOnly }: Notice, channels: readonly ChannelName[]): readonly ChannelName[] {
  return bellOnly ? channels.filter(name => name === 'bell') : channels
}

function keyOf(number: number): string {
  return `decision:${number}`
}
