import type { TestContext } from 'node:test'
import type { Values } from '../../../src/domain/config/config.ts'
import { deliver } from '../../../src/human/notify/deliver.ts'
import type { Message } from '../../../src/human/notify/notice.ts'
import { noticesOf } from '../../../src/human/notify/notice-of.ts'
import { notifyWorld, settingsWith } from './world.ts'

export interface DeliverySteps {
  ask(question: string): Promise<void>
  /** Every message so far, once all that is due is told. */
  told(): Promise<Message[]>
  move(ms: number): Promise<void>
  moveTo(time: number): Promise<void>
}

/** One channel with a question that waits, and a clock that only the test moves. */
export async function deliverSteps(t: TestContext, values: Partial<Values>, from = Date.now()): Promise<DeliverySteps> {
  const world = await notifyWorld(t)
  const { store } = world
  let now = from
  let wake = () => {}
  const said: Message[] = []
  const leave = new AbortController()
  const ask = async (question: string) => {
    await world.park({}, question)
    const [event] = await store.events({ kinds: ['question.parked'], tail: 1 })
    const [notice] = event ? await noticesOf(event, { store, hidden: [] }) : []
    if (!notice) throw new Error('a parked question is worth telling')
    const row = { channel: 'ntfy', kind: notice.kind, dedup_key: notice.key, body: JSON.stringify(notice) }
    await store.transaction(tx => store.outbox.add({ ...row, next_at: now, created_at: now }, tx))
    wake()
  }
  await ask('The first?')
  const running = deliver({
    channel: {
      name: 'ntfy',
      send: async message => {
        said.push(message)
        return { ok: true }
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
    async told() {
      while ((await store.outbox.due('ntfy', now)).length > 0) await new Promise(resolve => setTimeout(resolve, 2))
      return [...said]
    },
  }
}
