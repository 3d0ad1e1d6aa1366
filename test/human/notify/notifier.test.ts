import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { EventBody } from '../../../src/domain/event.ts'
import type { Need, Needs } from '../../../src/domain/needs.ts'
import { CHANNELS } from '../../../src/domain/option-values.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { readChannelSetup } from '../../../src/human/notify/channel-setup.ts'
import { openStore } from '../../../src/store/open.ts'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'
import { tempDir } from '../../support/world.ts'
import { fakeDesktop, notifyWorld, receiver, settingsWith } from './notify-harness.ts'

const NTFY = (url: string) => ({ 'notifications.ntfy.server': url, 'notifications.ntfy.topic': 'my-topic' })

test('a question that waits is told on every channel, with what is asked and how to answer', async t => {
  const world = await notifyWorld(t)
  const [ntfy, slack, telegram] = [await receiver(t), await receiver(t), await receiver(t, holdPolls)]
  const desktop = fakeDesktop(t)
  const rung: string[] = []
  const bell = Promise.withResolvers<void>()
  const env = { ...desktop.env, HOOK: `${slack.url}/hook/secret` }
  const values = {
    ...NTFY(ntfy.url),
    'notifications.desktop': true,
    'notifications.bell': true,
    'notifications.ntfy.token': 'ntfy-access-token',
    'notifications.slack.webhook': 'env:HOOK',
    'notifications.telegram.bot_token': '77:bot-token',
    'notifications.telegram.chat_id': '42',
    'notifications.telegram.base_url': telegram.url,
  }
  const { channels } = readChannelSetup(settingsWith(values), env)
  assert.deepEqual(channels.sort(), [...CHANNELS].sort(), 'a channel is missing here')
  const ring = async (text: string) => bell.resolve(void rung.push(text))
  world.start({ env, ring, values })
  await world.park()
  const title = 'Question (decision 1) · api-work in shop'
  const text =
    'Which database?\n  1. Postgres – many writers\n  2. SQLite\nTask: Build the API\nAnswer: pcc respond 1 "…"'
  const { body, headers } = await ntfy.nth(1)
  assert.deepEqual(body, { topic: 'my-topic', title, message: text, priority: 4, tags: ['question'] })
  assert.equal(headers['authorization'], 'Bearer ntfy-access-token')
  const hooked = await slack.nth(1)
  assert.deepEqual([hooked.path, hooked.body], ['/hook/secret', { text: `*${title}*\n${text}` }])
  const sent = await until(telegram, '/bot77:bot-token/sendMessage')
  assert.equal(sent.chat_id, '42')
  assert.equal(sent.text, `${title}\n\n${text}`)
  assert.deepEqual(
    sent.reply_markup.inline_keyboard.flat().map((button: { text: string }) => button.text),
    ['1. Postgres', '2. SQLite', 'Do not answer'],
  )
  await bell.promise
  assert.deepEqual(rung, [title])
  await settled(world.store)
  const shown = JSON.parse(readFileSync(desktop.file, 'utf8').trim()) as string[]
  assert.deepEqual(shown.slice(-3), ['--', title, text])
})

test('everything that waits and every HIGH refusal is told once, and again only when it was gone', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const about = { project: '/home/ann/shop', session_id: null, task_id: null, title: null, priority: 0, since: 0 }
  const need = (key: string, more: Partial<Need> = {}): Need => ({
    ...{
      ...about,
      key,
      kind: 'login',
      text: `${key} waits`,
      next: 'claude /login',
      count: 1,
      number: null,
      risk: null,
    },
    ...more,
  })
  let now: Needs = {
    needs: [need('account')],
    refused: [
      need('refused:1', { kind: 'refused', number: 1, risk: 'HIGH', title: 'tidy up', count: 4 }),
      need('refused:2', { kind: 'refused', number: 2, risk: 'MEDIUM' }),
    ],
  }
  let [looks, looked] = [0, Promise.withResolvers<void>()]
  const needs = async () => {
    looks += 1
    looked.resolve()
    looked = Promise.withResolvers()
    return now
  }
  world.start({ values: NTFY(ntfy.url), needs })
  const happens = () =>
    world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text: 'something happened' } })
  const told = async (count: number) => {
    await ntfy.nth(count)
    await settled(world.store)
    return ntfy.got.map(({ body }) => body.title).slice(0, count)
  }
  await happens()
  await happens()
  assert.deepEqual((await told(2)).sort(), ['A login is needed · shop', 'Refused, because nobody was there · shop'])
  assert.match(JSON.stringify(ntfy.got.map(({ body }) => body.message)), /Task: tidy up\\nAsked 4 times\\nType: /)
  now = { needs: [], refused: now.refused }
  await happens()
  await happens()
  // Events are taken in order: at the second look the outcome of the first is stored.
  while (looks < 4) await looked.promise
  now = { ...now, needs: [need('account')] }
  await happens()
  assert.deepEqual((await told(3)).at(-1), 'A login is needed · shop', 'it came again')
  assert.equal(ntfy.got.length, 3)
})

test('Telegram is not asked for answers where nobody is told by it', async t => {
  const world = await notifyWorld(t)
  const [ntfy, telegram] = [await receiver(t), await receiver(t, holdPolls)]
  // Without a chat id the channel is not set up.
  const bot = { 'notifications.telegram.bot_token': '77:bot-token', 'notifications.telegram.base_url': telegram.url }
  world.start({ values: { ...NTFY(ntfy.url), ...bot } })
  await world.park()
  await ntfy.nth(1)
  await settled(world.store)
  assert.deepEqual(telegram.got, [])
})

test('a thousand escalations at once are one message on each channel', async t => {
  const world = await notifyWorld(t)
  const [ntfy, slack] = [await receiver(t), await receiver(t)]
  world.start({ values: { ...NTFY(ntfy.url), 'notifications.slack.webhook': slack.url } })
  await Promise.all(Array.from({ length: 1000 }, (_, index) => world.park({}, `Which colour has number ${index}?`)))
  assert.equal((await ntfy.nth(1)).body.title, '1000 questions waiting')
  assert.match(
    (await ntfy.nth(1)).body.message,
    /^• Question \(decision 1\).*… and 995 more\nAnswer them: pcc pending$/s,
  )
  assert.match((await slack.nth(1)).body.text, /^\*1000 questions waiting\*/)
  await settled(world.store)
  assert.deepEqual([ntfy.got.length, slack.got.length], [1, 1])
})

test('the same decision of five sessions is told once', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: NTFY(ntfy.url) })
  const numbers = new Set<number>()
  for (const n of [1, 2, 3, 4, 5]) numbers.add(await world.park({ session_id: `s-${n}`, call_id: `c-${n}` }))
  assert.deepEqual([...numbers], [1])
  assert.match((await ntfy.nth(1)).body.title, /^Question \(decision 1\)/)
  await world.park({}, 'Something else?')
  assert.match((await ntfy.nth(2)).body.message, /^Something else\?/)
  assert.equal(ntfy.got.length, 2)
})

test('finished tasks that wait for the same checks are told in one message that says what to type', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const escalations = openEscalations({ store: world.store, clock: { now: () => Date.now() } })
  world.start({ values: NTFY(ntfy.url), needs: () => listNeeds({ store: world.store }) })
  const finish = async (task: string) => {
    const input = { task, untilChecked: true, fix: 'pcc trust /usr/share' }
    const about = { session_id: 's-1', project: '/usr/share', task_id: null, target: task, normalised: task, input }
    const { number: _, ...row } = { number: 0, ...AN_ESCALATION }
    await escalations.record({ ...row, ...about, kind: 'review', tool: 'accept', state: 'open' })
    await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text: `${task} waits` } })
  }
  await finish('t-000001')
  const { title, message } = (await ntfy.nth(1)).body
  assert.equal(title, 'Review wanted · share')
  assert.match(message, /pcc review t-000001.*\nType: pcc trust \/usr\/share$/s)
  await finish('t-000002')
  await finish('t-000003')
  await world.park({ project: '/usr/share' }, 'Something else?')
  assert.match((await ntfy.nth(2)).body.title, /^Question \(decision 4\)/)
  await settled(world.store)
  assert.equal(ntfy.got.length, 2)
})

test('while offline nothing is lost, also when the daemon ends meanwhile, and nothing is told twice', async t => {
  const file = join(tempDir(t), 'store.db')
  const before = await notifyWorld(t, file)
  let online = false
  const refused = Promise.withResolvers<void>()
  const ntfy = await receiver(t, (_got, response) => {
    if (!online) refused.resolve()
    response.writeHead(online ? 200 : 503).end('{}')
  })
  const { stop } = before.start({ values: NTFY(ntfy.url) })
  await before.park()
  await refused.promise
  await stop()
  await before.store.close()
  online = true
  const tried = ntfy.got.length
  const after = await notifyWorld(t, file)
  after.start({ values: NTFY(ntfy.url) })
  assert.match((await ntfy.nth(tried + 1)).body.message, /^Which database\?/)
  await after.park({}, 'And the second?')
  assert.match((await ntfy.nth(tried + 2)).body.message, /^And the second\?/)
})

test('a channel that hangs holds neither another channel up nor the end of the daemon', async t => {
  const world = await notifyWorld(t)
  const hanging = await receiver(t, () => {})
  const ntfy = await receiver(t)
  const { stop } = world.start({ values: { ...NTFY(ntfy.url), 'notifications.slack.webhook': hanging.url } })
  await world.park()
  await Promise.all([ntfy.nth(1), hanging.nth(1)])
  await world.park({}, 'Another?')
  await ntfy.nth(2)
  await stop()
  assert.deepEqual(
    (await world.store.outbox.due('slack', Date.now())).map(({ state }) => state),
    ['waiting', 'waiting'],
    'what was not said is said by the next daemon',
  )
})

test('what was answered before it could be told is not told', async t => {
  const world = await notifyWorld(t)
  await world.park()
  await world.store.transaction(tx =>
    world.store.escalations.answer(1, { answer: ['SQLite'], by: 'human', at: 1, from: 'open' }, tx),
  )
  await world.park({}, 'Still open?')
  const ntfy = await receiver(t)
  world.start({ values: NTFY(ntfy.url) })
  assert.match((await ntfy.nth(1)).body.message, /^Still open\?/)
  await settled(world.store)
  assert.equal(ntfy.got.length, 1)
})

test('a completed session is told with the first lines of its result, a failed one with its reason, a limit once', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: NTFY(ntfy.url) })
  const of = { actor: 'daemon', subject: 's-1' }
  const text = `I built it.\n\n${Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n')}`
  const turn = { outcome: 'completed' as const, text, turns: 1, duration_ms: 1, denials: 0 }
  await world.append({ ...of, kind: 'turn.ended', body: turn })
  await world.append({ ...of, kind: 'session.ended', body: { status: 'completed', reason: 'done' } })
  const done = (await ntfy.nth(1)).body
  assert.equal(done.title, 'api-work in shop completed')
  assert.equal(done.message, 'Task: Build the API\nI built it.\nline 0\nline 1\nline 2\nline 3\nline 4')
  await world.append({ ...of, kind: 'session.ended', body: { status: 'error', reason: 'the model is gone' } })
  assert.deepEqual(
    [(await ntfy.nth(2)).body.title, ntfy.got[1]?.body.message],
    ['api-work in shop failed', 'the model is gone'],
  )
  const hit = { window: 'five_hour', resets_at: 1_800_000_000_000, message: 'limit reached' }
  await world.append({ ...of, kind: 'limit.hit', body: hit }, { ...of, subject: 's-2', kind: 'limit.hit', body: hit })
  assert.match((await ntfy.nth(3)).body.message, /^limit reached\nIt resets at /)
  await settled(world.store)
  assert.equal(ntfy.got.length, 3)
})

test('what is asked at a terminal where somebody is rings its bell and goes nowhere else', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const rung = Promise.withResolvers<string>()
  world.start({ values: { ...NTFY(ntfy.url), 'notifications.bell': true }, ring: async text => rung.resolve(text) })
  const body = { ask_id: 'a-1', call_id: 'c-1', questions: [] }
  await world.append({ actor: 'daemon', subject: 's-1', kind: 'question.asked', body })
  assert.equal(await rung.promise, 'api-work in shop asks you')
  await settled(world.store)
  assert.deepEqual(ntfy.got, [])
})

test('what a terminal asks is told elsewhere when nobody answers there, and not for any other note', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: NTFY(ntfy.url) })
  await world.store.sessions.update('s-1', { state: 'asking' })
  await world.ask()
  const note = (body: EventBody<'session.noted'>) =>
    world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body })
  await note({ text: 'no brain could answer' })
  await world.append({ actor: 'agent', subject: 's-1', kind: 'limit.hit', body: { message: 'enough' } })
  assert.match((await ntfy.nth(1)).body.title, /met a limit/)
  await note({ text: 'nobody has answered yet', unheard: true })
  assert.match((await ntfy.nth(2)).body.title, /decision 1/)
})

test('a decision that is open again after an answer is news again', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: NTFY(ntfy.url) })
  await world.park()
  await ntfy.nth(1)
  const answered = {
    number: 1,
    tool: 'AskUserQuestion',
    target: 'x',
    risk: 'LOW',
    by: 'ann',
    remembered: false,
  } as const
  await world.append({ actor: 'human', subject: 's-1', kind: 'escalation.answered', body: answered })
  await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text: 'asked again' } })
  assert.match((await ntfy.nth(2)).body.title, /decision 1/)
  await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text: 'something else' } })
  await settled(world.store)
  assert.equal(ntfy.got.length, 2)
})

test('a decision that is answered while it is being told, and then open again, is told and reminded of once', async t => {
  const world = await notifyWorld(t)
  const { store } = world
  const answered = {
    ...{ actor: 'human', subject: 's-1', kind: 'escalation.answered' as const },
    body: { number: 1, tool: 'Ask', target: 'x', risk: 'LOW' as const, by: 'ann', remembered: false },
  }
  const ntfy = await receiver(t, async (_got, response) => {
    if (ntfy.got.length === 1) {
      const [event] = await store.append([answered])
      while ((await store.outbox.cursor('notifications')) !== event?.id) await new Promise(setImmediate)
      await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.noted', body: { text: 'asked again' } })
    }
    response.end('{}')
  })
  world.start({ values: NTFY(ntfy.url) })
  await world.park()
  assert.match((await ntfy.nth(2)).body.title, /^Question \(decision 1\)/)
  const waiting = await store.outbox.due('ntfy', Number.MAX_SAFE_INTEGER)
  assert.deepEqual(
    waiting.map(({ dedup_key }) => dedup_key),
    ['decision:1'],
  )
})

test('secrets and control characters do not leave the machine, and no markup reaches Slack', async t => {
  const world = await notifyWorld(t)
  const slack = await receiver(t)
  world.start({ values: { 'notifications.slack.webhook': slack.url } })
  const evil =
    'Use \x1b[31msk-ant-api03-abcdefghijkl\x07 or postgres://u:hunter2@db <!channel> password: tr0ub4dor\u202e?'
  await world.park({}, evil)
  const { text } = (await slack.nth(1)).body
  assert.match(text, /Use sk-\[hidden\]␇ or postgres:\/\/u:\[hidden\]@db &lt;!channel&gt; password: \[hidden\]/)
  assert.doesNotMatch(text, /hunter2|tr0ub4dor|abcdefghijkl|[\x1b\x07\u202e]/)
})

test('events that nobody is told of are written down as seen only every thousand', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const quiet = { actor: 'agent', subject: 's-1', kind: 'agent.said' as const, body: { text: 'I write x.' } }
  await world.append(...Array.from({ length: 1500 }, () => quiet))
  await world.park()
  const seen: (number | undefined)[] = []
  const settings = async (project?: string) => {
    if (project !== undefined) seen.push(await world.store.outbox.cursor('notifications'))
    return settingsWith({ 'notifications.desktop': false, ...NTFY(ntfy.url) })
  }
  world.start({ values: {}, settings })
  await ntfy.nth(1)
  assert.deepEqual(seen.slice(0, 1), [1000], 'when the first notice is made')
  assert.equal(await world.store.outbox.cursor('notifications'), 1501)
})

test('what is followed waits without a timer, so that an idle daemon does nothing', async t => {
  const file = join(tempDir(t), 'store.db')
  const store = await openStore({ file, pollMs: 5 })
  t.after(() => store.close())
  const leave = new AbortController()
  const before = process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
  const events = store.follow(0, { alone: true, signal: leave.signal })[Symbol.asyncIterator]()
  const waiting = events.next()
  await store.events({ limit: 1 })
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length, before)
  await store.append([{ actor: 'daemon', subject: 'x', kind: 'session.noted', body: { text: 'here' } }])
  assert.equal((await waiting).value?.kind, 'session.noted')
  leave.abort()
})

function holdPolls({ path }: { path: string }, response: { end(text: string): unknown }): void {
  if (!path.endsWith('/getUpdates')) response.end('{"ok":true}')
}

// biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
async function until(server: Awaited<ReturnType<typeof receiver>>, path: string): Promise<any> {
  for (let count = 1; ; count++) {
    const got = await server.nth(count)
    if (got.path === path) return got.body
  }
}

/** Waits until no channel has anything left to send now. */
async function settled(store: Awaited<ReturnType<typeof openStore>>): Promise<void> {
  for (;;) {
    const left = await Promise.all(CHANNELS.map(channel => store.outbox.due(channel, Date.now())))
    if (left.flat().length === 0) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
