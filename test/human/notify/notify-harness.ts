import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { defaultValues, nestValues, type Values } from '../../../src/domain/config/settings.ts'
import type { NewEscalation } from '../../../src/domain/escalation.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import type { NotifySettings } from '../../../src/human/notify/notice.ts'
import { type Notifier, startNotifier } from '../../../src/human/notify/notifier.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

export interface Got {
  path: string
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  body: any
}

export interface Receiver {
  url: string
  got: Got[]
  /** Resolves with the request of this number, counted from one, as soon as it has arrived. */
  nth(count: number): Promise<Got>
  close(): Promise<void>
}

type Reply = (got: Got, response: ServerResponse) => void

const fine: Reply = (_got, response) => void response.end('{"ok":true,"result":[]}')

/** A server on loopback that records its requests. */
export async function receiver(t: TestContext, reply: Reply = fine): Promise<Receiver> {
  const got: Got[] = []
  let arrived = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const one = { path: request.url ?? '', headers: request.headers, body: await json(request).catch(() => undefined) }
    got.push(one)
    arrived.resolve()
    arrived = Promise.withResolvers<void>()
    reply(one, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise(resolve => server.close(resolve))
  }
  t.after(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got,
    close,
    async nth(count) {
      for (;;) {
        const found = got[count - 1]
        if (found) return found
        await arrived.promise
      }
    },
  }
}

/** The default settings of notifications, with some values changed. */
export function settingsWith(values: Partial<Values>): NotifySettings {
  return nestValues({ ...defaultValues(), ...values }).notifications
}

/** A desktop whose `notify-send` is a program that records its arguments, one JSON line per call. */
export function fakeDesktop(t: TestContext): { env: Record<string, string>; file: string; dir: string } {
  const dir = tempDir(t)
  const file = join(dir, 'shown.jsonl')
  const script = `#!${process.execPath}
require('node:fs').appendFileSync(${JSON.stringify(file)}, JSON.stringify(process.argv.slice(2)) + '\\n')
`
  for (const name of ['notify-send', 'osascript']) {
    writeFileSync(join(dir, name), script)
    chmodSync(join(dir, name), 0o755)
  }
  const base = bareEnv(dir)
  return { env: { ...base, PATH: `${dir}:${base['PATH']}`, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }, file, dir }
}

export interface NotifyWorld {
  store: Store
  /** Parks a question as the supervisor does: with a row and an event. */
  park(more?: Partial<NewEscalation>, question?: string): Promise<number>
  /** Adds the row of an ask at a terminal. */
  ask(): Promise<number>
  append(...events: NewEvent[]): Promise<void>
  start(options: Partial<Notifier> & { values: Partial<Values> }): { stop(): Promise<void> }
}

/** Times that are fast enough for a test and have the proportions of the real ones. */
const QUICK = { gatherMs: 30, burstPauseMs: 150, firstRetryMs: 20, longestRetryMs: 40 }

/** A store with a session, and a notifier that is started on demand. */
export async function notifyWorld(t: TestContext, file = join(tempDir(t), 'store.db')): Promise<NotifyWorld> {
  const store = await openStore({ file })
  t.after(() => store.close())
  const escalations = openEscalations({ store, clock: { now: () => Date.now() } })
  await store.sessions
    .insert({ id: 's-1', name: 'api-work', project: '/home/ann/shop', task: 'Build the API', agent: 'claude' })
    .catch(() => undefined) // the same file again
  return {
    store,
    append: async (...events) => void (await store.append(events)),
    ask: () => escalations.record(asked('Which database?', {})),
    park: (more = {}, question = 'Which database?') =>
      store.transaction(async tx => {
        const entry = asked(question, more)
        const number = await escalations.record(entry, tx)
        await tx.append([parkedEvent(entry, number)])
        return number
      }),
    start({ values, ...options }) {
      const leave = new AbortController()
      const running = startNotifier({
        store,
        settings: async () => settingsWith({ 'notifications.desktop': false, ...values }),
        env: {},
        since: 0,
        answer: async () => {},
        ring: async () => {},
        signal: leave.signal,
        times: QUICK,
        ...options,
      })
      const stop = async () => {
        leave.abort()
        await running
      }
      t.after(stop)
      return { stop }
    },
  }
}

const OPTIONS = [
  { label: 'Postgres', description: 'many writers' },
  { label: 'SQLite', description: '' },
]

function asked(question: string, more: Partial<NewEscalation>): NewEscalation {
  return {
    kind: 'question',
    session_id: 's-1',
    project: '/home/ann/shop',
    task: 'Build the API',
    call_id: 'c-1',
    tool: 'AskUserQuestion',
    target: question,
    input: { questions: [{ question, header: '', multiSelect: false, options: OPTIONS }] },
    risk: 'LOW',
    reason: 'nobody was there',
    reasons: [],
    normalised: `question ${question}`,
    state: 'open',
    ...more,
  }
}

function parkedEvent(
  { kind, session_id, call_id, tool, target, risk, reason }: NewEscalation,
  number: number,
): NewEvent {
  const of = { actor: 'daemon', subject: session_id }
  const same = { ask_id: 'a-1', call_id, reason, number }
  return kind === 'permission'
    ? { ...of, kind: 'permission.parked', body: { ...same, tool, target, risk } }
    : { ...of, kind: 'question.parked', body: { ...same, questions: [] } }
}
