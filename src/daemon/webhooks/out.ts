import { DAY_MS } from '../../base/clock.ts'
import { Alarm } from '../../base/keyed-worker.ts'
import { redact } from '../../base/redact.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { SendResult } from '../../human/notify/notice.ts'
import type { Store } from '../../store/store.ts'
import type { DaemonContext } from '../context.ts'
import { parseKindPatterns } from '../routes/sessions.ts'
import { postGuarded } from './send.ts'
import type { ReadWebhooks, WebhookTarget } from './settings.ts'
import { signPcc } from './signature.ts'

const CURSOR = 'webhooks'
/** Events that no address wants move the cursor only once in so many ids: reading them again costs nothing. */
const CURSOR_STEP = 1_000
const FIRST_RETRY_MS = 5_000
const LONGEST_RETRY_MS = 15 * 60_000
/** A clock that was set back must not hold everything up. */
const LONGEST_WAIT_MS = 3_600_000 + 1
const GIVE_UP_MS = 3 * DAY_MS
const KEPT_MS = 7 * DAY_MS
/** Further events are not stored for an address that takes none. */
const MOST_WAITING = 10_000
const COUNTED_EVERY = 100
const AT_ONCE = 100

export interface WebhooksOut {
  daemon: Pick<DaemonContext, 'store' | 'log' | 'secrets'>
  read(): Promise<ReadWebhooks>
  /** The event to start after the first time. */
  since: number
  signal: AbortSignal
  now?: () => number
  send?: typeof postGuarded
}

/** The beginning of the name of an address in the outbox, and of its cursor, which holds the event after which it gets events. */
const PREFIX = 'webhook:'

/** The name of an address in the outbox. */
function channelOf({ name }: Pick<WebhookTarget, 'name'>): string {
  return `${PREFIX}${name}`
}

/** Forgets what waits for addresses that are not listed any more. */
export async function forgetRemoved(targets: readonly WebhookTarget[], store: Store): Promise<void> {
  await store.outbox.forgetOthers(PREFIX, targets.map(channelOf))
}

/**
 * Tells the listed addresses of events until the signal ends it. An event is put into the outbox for each address that wants it, in
 * the transaction that moves the cursor, so none is lost or stored twice; each address gets them in their order. Never throws.
 */
export async function tellOutside(out: WebhooksOut): Promise<void> {
  const { daemon, read, since, signal } = out
  const { store, log } = daemon
  const { targets } = await read()
  await forgetRemoved(targets, store)
  if (targets.length === 0) return
  const alarms = new Map(targets.map(target => [target.name, openDelivery(target.name, out)]))
  const wanting = await Promise.all(
    targets.map(async target => {
      const wants = parseKindPatterns(target.events)
      return { target, wants, begins: await beginAt(target), waiting: 0, added: 0 }
    }),
  )
  await store.outbox.prune((out.now ?? Date.now)() - KEPT_MS)
  for (const alarm of alarms.values()) void alarm.poke()
  const known = await store.outbox.cursor(CURSOR)
  if (known === undefined) await store.outbox.moveCursor(CURSOR, since)
  let saved = Math.max(known ?? since, Math.min(...wanting.map(({ begins }) => begins)))
  try {
    for await (const event of store.follow(saved, { signal, alone: true })) {
      const receivers = wanting.filter(({ wants, begins }) => event.id > begins && wants(event.kind))
      if (receivers.length === 0 && event.id - saved < CURSOR_STEP) continue
      for (const one of receivers) await countWaiting(one)
      const free = receivers.filter(({ waiting }) => waiting < MOST_WAITING)
      await store.transaction(async tx => {
        for (const { target } of free) await store.outbox.add(toRow(event, target), tx)
        await store.outbox.moveCursor(CURSOR, event.id, tx)
      })
      saved = event.id
      for (const one of free) {
        one.waiting += 1
        void alarms.get(one.target.name)?.poke()
      }
      if (free.length < receivers.length)
        log.warn({ event: event.id }, 'an address takes no events; some are not stored')
    }
  } finally {
    await Promise.all([...alarms.values()].map(alarm => alarm.close()))
  }

  /** The event after which an address gets events: for a new one, the start of this daemon. */
  async function beginAt(target: WebhookTarget): Promise<number> {
    const begun = await store.outbox.cursor(channelOf(target))
    if (begun === undefined) await store.outbox.moveCursor(channelOf(target), since)
    return begun ?? since
  }

  async function countWaiting(one: (typeof wanting)[number]): Promise<void> {
    if (one.added++ % COUNTED_EVERY !== 0 && one.waiting < MOST_WAITING) return
    one.waiting = (await store.outbox.backlog(channelOf(one.target))).waiting
  }

  function toRow({ id, kind, time, subject, actor, body }: StoredEvent, target: WebhookTarget) {
    const now = (out.now ?? Date.now)()
    const event = redact({ id, kind, time, subject, actor, body }, daemon.secrets.known())
    return {
      ...{ channel: channelOf(target), kind, dedup_key: `event:${id}`, body: JSON.stringify(event) },
      ...{ next_at: now, created_at: now },
    }
  }
}

/** Sends what waits for one address, in order. A failure keeps the later ones waiting. */
function openDelivery(name: string, out: WebhooksOut): Alarm {
  const { daemon, read, now = Date.now } = out
  const { store, log } = daemon
  const channel = channelOf({ name })
  let blockedUntil = 0
  const alarm: Alarm = new Alarm({
    async look() {
      // What came later waits for what failed, so that all arrive in their order.
      if (blockedUntil > now() && blockedUntil < now() + LONGEST_WAIT_MS) return blockedUntil - now()
      await store.outbox.setBack(channel, now())
      for (const row of await store.outbox.due(channel, now(), AT_ONCE)) {
        if (alarm.closed) return undefined
        const target = (await read()).targets.find(one => one.name === name)
        if (!target) return undefined
        const sent = await sendEvent(target, { id: row.dedup_key, event: row.kind, body: row.body }, out)
        if (sent.ok) {
          await store.outbox.update([row.id], { state: 'done', problem: null })
          continue
        }
        if (out.signal.aborted) return undefined
        const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(row.tries, 20))
        const next_at = now() + Math.max(waitMs, sent.retryAfterMs ?? 0)
        const isOver = now() - row.created_at > GIVE_UP_MS
        const state = isOver ? ('failed' as const) : row.state
        if (isOver) await tellOnce(sent.problem)
        await store.outbox.update([row.id], { state, tries: row.tries + 1, next_at, problem: sent.problem })
        log.warn(
          { webhook: name, problem: sent.problem },
          isOver ? 'an event is given up' : 'an event is sent again later',
        )
        if (isOver) continue
        blockedUntil = next_at
        return next_at - now()
      }
      const next = await store.outbox.nextAt(channel)
      return next === undefined ? undefined : next - now()
    },
    failed: error => log.error({ webhook: name, error }, 'events could not be sent'),
  })
  return alarm

  /** Before the first event that is given up since one was sent. */
  async function tellOnce(problem: string): Promise<void> {
    if ((await store.outbox.backlog(channel)).failed > 0) return
    const body = { name, problem }
    await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'webhook.given_up', body }])
  }
}

/** Sends one event, signed as docs/webhooks.md says. */
export async function sendEvent(
  { url, allowsPrivate, readSecret }: WebhookTarget,
  { id, event, body }: { id: string; event: string; body: string },
  { signal, now = Date.now, send = postGuarded }: Pick<WebhooksOut, 'signal' | 'now' | 'send'>,
): Promise<SendResult> {
  const { secret, problem } = await readSecret()
  if (secret === undefined) return { ok: false, problem }
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'PerpetualCC',
    'x-pcc-event': event,
    'x-pcc-delivery': id.replace(':', '-'),
    'x-pcc-signature': signPcc(secret, body, Math.floor(now() / 1000)),
  }
  return send({ url, headers, body, allowsPrivate, signal })
}
