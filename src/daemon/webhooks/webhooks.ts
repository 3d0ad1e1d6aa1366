import { setTimeout as sleep } from 'node:timers/promises'
import { RETRY_MS } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Alarm } from '../../base/keyed-worker.ts'
import type { WebhookSetup } from '../../domain/webhook.ts'
import type { DaemonContext } from '../context.ts'
import { openWebhookSettings, type ReadWebhooks, type Webhooks } from './settings.ts'

/** Opens webhooks. Nothing is worked on before `run`, and code is loaded when something has to be done with it. */
export function openWebhooks(daemon: () => DaemonContext, env: Record<string, string | undefined>): Webhooks {
  let working: Promise<Alarm> | undefined
  let settings: (() => Promise<ReadWebhooks>) | undefined
  const read = () => {
    settings ??= openWebhookSettings(daemon(), env)
    return settings()
  }
  const order: Webhooks['order'] = async (text, by) =>
    (await import('./chat-orders.ts')).obey(text, by, daemon(), await read())
  const work = () => {
    working ??= openWork()
    return working
  }
  async function openWork(): Promise<Alarm> {
    const [{ openWebhookWork }, { hearChat }] = await Promise.all([import('./work.ts'), import('./chat-orders.ts')])
    return openWebhookWork({ daemon: daemon(), read, chat: update => hearChat(update, daemon(), env) })
  }
  /** The addresses to which this daemon sends events; unset before it has read them. */
  let receivers: ReadonlySet<string> | undefined
  let isClosed = false
  const poke = async () => {
    if (!isClosed) await (await work()).poke()
  }
  const close = async () => {
    isClosed = true
    await (await working)?.close()
  }
  return {
    read,
    order,
    received: () => void poke(),
    async run(since) {
      const { stopping, log, store } = daemon()
      const stopped = new Promise(done => stopping.addEventListener('abort', done, { once: true }))
      // If the rows cannot be counted, the work itself finds out.
      if ((await store.webhooks.count().catch(() => 1)) > 0) void poke()
      while (!stopping.aborted) {
        try {
          const { targets } = await read()
          receivers = new Set(targets.map(({ name }) => name))
          const { tellOutside, forgetRemoved } = await import('./out.ts')
          if (targets.length === 0) {
            await forgetRemoved(targets, store)
            break
          }
          await tellOutside({ daemon: daemon(), read, since, signal: stopping })
        } catch (error) {
          // A full disk passes; what was not stored is read again from the cursor.
          if (!stopping.aborted) log.error({ error }, 'events are not sent to webhooks; tried again soon')
        }
        await sleep(RETRY_MS, undefined, { signal: stopping, ref: false }).catch(() => undefined) // the daemon stops
      }
      if (!stopping.aborted) await stopped
      await close()
    },
    close,
    async setups() {
      const { store } = daemon()
      settings = undefined
      const { doors, targets } = await read()
      const counts = await store.webhooks.countBySource()
      const ins = doors.map(async ({ name, readSecret }): Promise<WebhookSetup> => {
        const { problem } = await readSecret()
        return { name, direction: 'in', address: `/webhook/${name}`, problem, waiting: counts.get(name) ?? 0 }
      })
      const outs = targets.map(async (target): Promise<WebhookSetup> => {
        const { name, url: address } = target
        const { waiting, failed, problem: last } = await store.outbox.backlog(`webhook:${name}`)
        const isNew =
          receivers?.has(name) === false ? 'it was listed after the daemon started: pcc daemon restart' : null
        const given = failed > 0 ? `${failed} events were given up: ${last}` : last
        return {
          name,
          direction: 'out',
          address,
          problem: (await target.readSecret()).problem ?? isNew ?? given,
          waiting,
        }
      })
      return Promise.all([...ins, ...outs])
    },
    async retry(id) {
      const { store } = daemon()
      // The person has just changed them.
      settings = undefined
      const now = Date.now()
      const row = await store.transaction(async tx => {
        const found = await store.webhooks.get(id, tx)
        if (!found) throw new AppError('webhook_message', { id })
        const state = found.body === '' ? ('starting' as const) : ('waiting' as const)
        // One whose run did not start has no text any more: its tasks say what to do.
        const isStored = found.state === 'failed' ? found.body + found.tasks !== '' : found.body !== ''
        const isOpenAgain = (found.state === 'failed' || found.state === 'refused') && isStored
        if (!isOpenAgain) throw new AppError('webhook_not_failed', { id, state: found.state })
        const again = { state, tries: 0, next_at: now, updated_at: now }
        await store.webhooks.move(found, again, tx)
        return { ...found, ...again }
      })
      await poke()
      return (await store.webhooks.get(id)) ?? row
    },
    async test(name) {
      const target = (await read()).targets.find(one => one.name === name)
      if (!target) throw new AppError('webhook_unknown', { name })
      const body = JSON.stringify({ id: 0, kind: 'webhook.test', time: Date.now(), subject: 'daemon', body: {} })
      const { sendEvent } = await import('./out.ts')
      const event = { id: `test:${Date.now()}`, event: 'webhook.test', body }
      return sendEvent(target, event, { signal: daemon().stopping })
    },
  }
}
