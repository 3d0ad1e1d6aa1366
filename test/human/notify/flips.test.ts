import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { SETTING_KEYS, settingOf, type Values } from '../../../src/domain/config/settings.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import { readChannelSetup } from '../../../src/human/notify/channel-setup.ts'
import { quietUntil } from '../../../src/human/notify/deliver.ts'
import type { Channel, NotifyMessage } from '../../../src/human/notify/notice.ts'
import { openChannel } from '../../../src/human/notify/open-channel.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { keepRun } from '../../store/an-attempt.ts'
import { deliverSteps } from './deliver-steps.ts'
import { fakeDesktop, notifyWorld, receiver, settingsWith } from './notify-harness.ts'

const MESSAGE: NotifyMessage = { kind: 'question', title: 'Title', text: 'Text', sound: true }
const of = { actor: 'daemon', subject: 's-1' }
const COMPLETED: NewEvent = { ...of, kind: 'session.ended', body: { status: 'completed', reason: 'done' } }
const FAILED: NewEvent = { ...of, kind: 'session.ended', body: { status: 'error', reason: 'gone' } }
const LIMIT: NewEvent = { ...of, kind: 'limit.hit', body: { message: 'limit' } }

/** The kinds of notices that these settings allow, from one event of each kind. */
async function kindsTold(t: TestContext, values: Partial<Values>): Promise<string[]> {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  await world.park()
  await world.append(COMPLETED, FAILED, LIMIT)
  const topic = { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'x' }
  // Long enough that nothing is sent: the test looks at the outbox.
  const { stop } = world.start({ values: { ...topic, ...values }, times: { gatherMs: 600_000 } })
  const all = 1 + (await world.store.events({})).length
  while (values['notifications.enabled'] !== false && (await world.store.outbox.cursor('notifications')) !== all - 1) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await stop()
  return (await world.store.outbox.due('ntfy', Number.MAX_SAFE_INTEGER)).map(({ kind }) => kind).sort()
}

test('each kind has a switch: notifications.on_question, .on_complete, .on_error, .on_rate_limit', async t => {
  const all = ['complete', 'error', 'question', 'rate_limit']
  // A failed session with an open decision gets the notice of that decision; here the decision is a question.
  const told = await kindsTold(t, {})
  assert.deepEqual(new Set(told), new Set(all.filter(kind => kind !== 'error')))
  for (const [key, kind] of [
    ['notifications.on_question', 'question'],
    ['notifications.on_complete', 'complete'],
    ['notifications.on_rate_limit', 'rate_limit'],
  ] as const) {
    assert.ok(!(await kindsTold(t, { [key]: false })).includes(kind), key)
  }
})

test('notifications.on_error', async t => {
  for (const on of [true, false]) {
    const world = await notifyWorld(t)
    const ntfy = await receiver(t)
    await world.append(FAILED, COMPLETED)
    const topic = { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'x' }
    world.start({ values: { ...topic, 'notifications.on_error': on } })
    assert.equal((await ntfy.nth(1)).body.title, on ? 'api-work in shop failed' : 'api-work in shop completed')
  }
})

test('notifications.on_report: the night in one message; one in which nothing happened is none', async t => {
  const counts = { since: 0, until: 1, unfinished: 0, waiting: 1, cost_usd: 5.25 }
  const made = (done: number, failed: number, titles: string[], more = {}) =>
    ({
      actor: 'daemon',
      subject: 'daemon',
      kind: 'report.made',
      body: { ...counts, done, failed, titles, ...more },
    }) as const
  for (const on of [true, false]) {
    const world = await notifyWorld(t)
    const ntfy = await receiver(t)
    await world.append(
      made(0, 0, [], { waiting: 0 }),
      made(12, 1, ['Pay', ...Array.from({ length: 9 }, (_, n) => `Task ${n}`)]),
    )
    await world.append(COMPLETED)
    const topic = { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'x' }
    world.start({ values: { ...topic, 'notifications.on_report': on } })
    const { title, message } = (await ntfy.nth(1)).body
    assert.equal(title, on ? 'The night: 12 done, 1 failed, 1 waits for you' : 'api-work in shop completed')
    if (on) assert.match(message, /^✗ Pay\n✓ Task 0\n[\s\S]*… and 3 more\n\$5\.25 spent\nThe whole: pcc report$/)
  }
})

test('notifications.enabled = false tells nothing on any channel', async t => {
  assert.deepEqual(await kindsTold(t, { 'notifications.enabled': false }), [])
})

test('notifications.desktop and notifications.sound: shown with notify-send, with a sound or without', async t => {
  const { env, file } = fakeDesktop(t)
  assert.deepEqual(readChannelSetup(settingsWith({}), env, 'linux').channels, ['desktop'])
  assert.deepEqual(readChannelSetup(settingsWith({ 'notifications.desktop': false }), env, 'linux').channels, [])
  assert.deepEqual(
    readChannelSetup(settingsWith({}), { PATH: env['PATH'] }, 'linux').channels,
    [],
    'no desktop to show it on',
  )
  const channel = await open('desktop', {}, env)
  await channel.send(MESSAGE, new AbortController().signal)
  await channel.send({ ...MESSAGE, sound: false }, new AbortController().signal)
  const [loud = '', still = ''] = readFileSync(file, 'utf8').trim().split('\n')
  assert.match(loud, /sound-name/)
  assert.match(still, /suppress-sound/)
  const steps = await deliverSteps(t, { 'notifications.sound': false })
  assert.equal((await steps.sent()).map(({ sound }) => sound).at(0), false)
})

test('the project of a notice says whether it has a sound; of several one is enough', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const values: Partial<Values> = { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'x' }
  const settings = async (project?: string) =>
    settingsWith({ ...values, 'notifications.desktop': false, 'notifications.sound': project !== '/home/ann/shop' })
  world.start({ values: {}, settings })
  await world.append(COMPLETED)
  assert.equal((await ntfy.nth(1)).body.priority, 2)
  await keepRun(world.store, 'r-1', '/home/ann/other')
  const ended = { actor: 'daemon', subject: 'r-1', kind: 'run.ended' } as const
  await world.append(COMPLETED, COMPLETED, COMPLETED, { ...ended, body: { outcome: 'complete', reason: 'done' } })
  await world.append(COMPLETED)
  const { title, priority } = (await ntfy.nth(2)).body
  assert.deepEqual([title, priority], ['5 completed', 3], 'a run is no session')
})

test('the message of many says limits and budgets, because both are told as one kind', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const topic = { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'x' }
  const warned = (key: string): NewEvent => {
    const body = { scope: 'day', key, measure: 'tokens', spent: 8, limit: 10 } as const
    return { ...of, kind: 'budget.warned', body }
  }
  await world.append(LIMIT, warned('1'), warned('2'), warned('3'))
  world.start({ values: topic })
  assert.equal((await ntfy.nth(1)).body.title, '4 limits or budgets')
})

test('notifications.bell rings at attached terminals', async () => {
  assert.deepEqual(readChannelSetup(settingsWith({ 'notifications.bell': true }), {}, 'linux').channels, ['bell'])
  assert.deepEqual(readChannelSetup(settingsWith({ 'notifications.bell': false }), {}, 'linux').channels, [])
})

test('notifications.ntfy.topic, .server and .token say where to and with what right', async t => {
  const server = await receiver(t)
  const values = {
    'notifications.ntfy.topic': 'env:TOPIC',
    'notifications.ntfy.server': server.url,
    'notifications.ntfy.token': 'right',
  }
  assert.deepEqual(readChannelSetup(settingsWith(values), { TOPIC: 'there' }, 'linux').channels, ['ntfy'])
  const [missing] = readChannelSetup(settingsWith(values), {}, 'linux').problems
  assert.match(
    missing?.problem ?? '',
    /^notifications\.ntfy\.topic takes TOPIC, which is not set here: .*begin with PCC_/,
  )
  await (await open('ntfy', values, { TOPIC: 'there' })).send(MESSAGE, new AbortController().signal)
  const got = await server.nth(1)
  assert.deepEqual([got.body.topic, got.headers['authorization']], ['there', 'Bearer right'])
})

test('notifications.slack.webhook says where to', async t => {
  const server = await receiver(t)
  const values = { 'notifications.slack.webhook': `${server.url}/a/b` }
  await (await open('slack', values)).send(MESSAGE, new AbortController().signal)
  assert.equal((await server.nth(1)).path, '/a/b')
  const bad = readChannelSetup(settingsWith({ 'notifications.slack.webhook': 'file:///etc/passwd' }), {}, 'linux')
  assert.deepEqual([bad.channels, bad.problems.length], [[], 1])
})

test('notifications.telegram.bot_token, .chat_id and .base_url say who talks to whom', async t => {
  const server = await receiver(t)
  const values = {
    'notifications.telegram.bot_token': '1:abc',
    'notifications.telegram.chat_id': '-100',
    'notifications.telegram.base_url': server.url,
  }
  await (await open('telegram', values)).send(MESSAGE, new AbortController().signal)
  const got = await server.nth(1)
  assert.deepEqual([got.path, got.body.chat_id], ['/bot1:abc/sendMessage', '-100'])
  const half = readChannelSetup(settingsWith({ 'notifications.telegram.bot_token': '1:abc' }), {}, 'linux')
  assert.deepEqual(half.problems, [{ channel: 'telegram', problem: 'notifications.telegram.chat_id is not set' }])
})

test('every setting of a channel that is a secret is kept out of what is shown', () => {
  const keys = SETTING_KEYS.filter(key => key.startsWith('notifications.') && settingOf(key).secret)
  assert.ok(keys.length >= 4)
  const values = Object.fromEntries(keys.map(key => [key, `value of ${key}`]))
  assert.deepEqual(
    readChannelSetup(settingsWith(values), {}, 'linux').secrets,
    keys.map(key => `value of ${key}`),
  )
})

test('notifications.quiet_hours, .working_days and .wake_for: who is woken for what', () => {
  const at = (text: string) => new Date(text).getTime()
  const friday = at('2026-11-13T23:30')
  const values = { 'notifications.quiet_hours': '22:00-07:00' }
  const until = (more: Partial<Values>, now = friday) =>
    quietUntil('question', settingsWith({ ...values, ...more }), now)
  assert.equal(until({ 'notifications.quiet_hours': undefined }), undefined)
  assert.equal(until({}), at('2026-11-14T07:00'))
  assert.equal(until({}, at('2026-11-13T06:59')), at('2026-11-13T07:00'))
  assert.equal(until({}, at('2026-11-13T07:00')), undefined)
  const week: Partial<Values> = { 'notifications.working_days': ['mon', 'tue', 'wed', 'thu', 'fri'] }
  assert.equal(until(week), at('2026-11-16T07:00'), 'Friday night to Monday morning')
  assert.equal(until(week, at('2026-11-14T12:00')), at('2026-11-16T07:00'))
  const weekOnly = { ...week, 'notifications.quiet_hours': undefined }
  assert.equal(until(weekOnly, at('2026-11-14T12:00')), at('2026-11-16T00:00'))
  assert.equal(until({ 'notifications.wake_for': ['question'] }), undefined)
  assert.equal(until({ 'notifications.wake_for': ['error'] }), at('2026-11-14T07:00'))
  assert.ok((until({ 'notifications.working_days': [] }) ?? 0) > friday)
})

test('what comes in quiet hours is told in one message after them', async t => {
  const steps = await deliverSteps(
    t,
    { 'notifications.quiet_hours': '22:00-07:00' },
    new Date('2026-11-13T23:30').getTime(),
  )
  for (const n of [1, 2, 3, 4, 5]) await steps.ask(`Question ${n}?`)
  assert.deepEqual(await steps.sent(), [])
  await steps.moveTo(new Date('2026-11-14T06:59').getTime())
  assert.deepEqual(await steps.sent(), [])
  await steps.moveTo(new Date('2026-11-14T07:00').getTime())
  assert.deepEqual(
    (await steps.sent()).map(({ title }) => title),
    ['6 questions waiting'],
  )
})

test('notifications.remind_minutes and .reminders: what still waits is told again, later each time, and not for ever', async t => {
  const minute = 60_000
  const steps = await deliverSteps(t, { 'notifications.remind_minutes': 30, 'notifications.reminders': 2 })
  const titles = async () => (await steps.sent()).map(({ title }) => title.split(' (')[0])
  assert.deepEqual(await titles(), ['Question'])
  await steps.move(29 * minute)
  assert.deepEqual((await titles()).length, 1)
  await steps.move(2 * minute)
  assert.deepEqual(await titles(), ['Question', 'Still waiting: Question'])
  await steps.move(58 * minute)
  assert.equal((await titles()).length, 2, 'the second takes twice as long')
  await steps.move(3 * minute)
  assert.equal((await titles()).length, 3)
  await steps.move(100 * 24 * 60 * minute)
  assert.equal((await titles()).length, 3)
  const never = await deliverSteps(t, { 'notifications.reminders': 0 })
  await never.move(100 * 60 * minute)
  assert.equal((await never.sent()).length, 1)
})

async function open(name: Channel['name'], values: Partial<Values>, env = {}): Promise<Channel> {
  return openChannel(name, { settings: settingsWith(values), env, ring: async () => {} })
}

test('what a notice is about belongs to a project, be it a session, a run or a task: the switches of that project count', async t => {
  const world = await notifyWorld(t)
  const request = { session_id: null, project: '/home/ann/shop', text: 'one', title: 'one' }
  const tasks = openTasks({ store: world.store, clock: systemClock })
  const task = await world.store.transaction(tx => tasks.submit(request, tx))
  const asked: string[] = []
  const settings = async (project?: string) => {
    if (project !== undefined) asked.push(project)
    return settingsWith({ 'notifications.desktop': false, 'notifications.slack.webhook': 'http://127.0.0.1:9' })
  }
  const about = (subject: string) => ({ actor: 'daemon', subject, kind: 'limit.hit' as const, body: { message: 'x' } })
  await keepRun(world.store, 'r-1', '/home/ann/other')
  await world.append(about(task.id), about('r-1'), about('s-1'))
  world.start({ values: {}, settings })
  while (asked.length < 3) await new Promise(resolve => setTimeout(resolve, 5))
  assert.deepEqual(asked.slice(0, 3), ['/home/ann/shop', '/home/ann/other', '/home/ann/shop'])
})
