import type { TestContext } from 'node:test'
import type { Values } from '../../../src/domain/config/settings.ts'
import { buildNotices } from '../../../src/human/notify/build-notices.ts'
import { deliver } from '../../../src/human/notify/deliver.ts'
import type { NotifyMessage, SendResult } from '../../../src/human/notify/notice.ts'
import { notifyWorld, settingsWith } from './notify-harness.ts'

export interface DeliverySteps {
  /** Adds several notices at the same moment. */
  ask(...questions: string[]): Promise<void>
  /** Every message that has arrived so far, after all that is due was tried. */
  sent(): Promise<NotifyMessage[]>
  move(ms: number): Promise<void>
  moveTo(time: number): Promise<void>
  /** Sets the channel's result for messages from now on. */
  reply(sent: (message: NotifyMessage) => SendResult): void
  /** A person answers the decision of this number. */
  answer(number: number): Promise<void>
}

/** One channel with a waiting question, and a clock that only the test moves. */
export async function deliverSteps(t: TestContext, values: Partial<Values>, from = Date.now()): Promise<DeliverySteps> {
  const world = await notifyWorld(t)
  const { store } = world
  let now = from
  let wake = () => {}
  let reply: (message: NotifyMessage) => SendResult = () => ({ ok: true })
  const said: NotifyMessage[] = []
  const leave = new AbortController()
  const noticeOf = async (question: string) => {
    await world.park({}, question)
    const [event] = await store.events({ kinds: ['question.parked'], tail: 1 })
    const [notice] = event ? await buildNotices(event, { store, hidden: [] }) : []
    if (!notice) throw new Error('a parked question is worth telling')
    return { channel: 'ntfy', kind: notice.kind, dedup_key: notice.key, body: JSON.stringify(notice) }
  }
  const ask = async (...questions: string[]) => {
    const rows: Awaited<ReturnType<typeof noticeOf>>[] = []
    for (const question of questions) rows.push(await noticeOf(question))
    await store.transaction(async tx => {
      for (const row of rows) await store.outbox.add({ ...row, next_at: now, created_at: now }, tx)
    })
    wake()
  }
  await ask('The first?')
  const running = deliver({
    channel: {
      name: 'ntfy',
      send: async message => {
        const sent = reply(message)
        if (sent.ok) said.push(message)
        return sent
      },
    },
    store,
    settings: async () => settingsWith(values),
    news: signal =>
      new Promise(resolve => {
        wake = resolve
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
    clock: { now: () => now },
    signal: leave.signal,
    times: { gatherMs: 1, burstPauseMs: 1 },
  })
  t.after(async () => {
    leave.abort()
    await running
  })
  const moveTo = async (time: number) => {
    now = time
    wake()
  }
  return {
    ask,
    moveTo,
    move: ms => moveTo(now + ms),
    reply: next => {
      reply = next
    },
    answer: async number => {
      await store.transaction(tx =>
        store.escalations.answer(number, { answer: ['SQLite'], by: 'human', at: now, from: 'open' }, tx),
      )
    },
    async sent() {
      while ((await store.outbox.due('ntfy', now)).length > 0) await new Promise(resolve => setTimeout(resolve, 2))
      return [...said]
    },
  }
}
