import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runNotifications } from '../../../src/daemon/notifications.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { telegramServer } from '../../human/notify/telegram-server.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { gitProject } from '../../support/world.ts'
import type { Payload } from './github-messages.ts'
import { webhookWorld } from './webhook-world.ts'

const SECRET = 'a-token-of-sixteen-and-more'

const signed = (payload: Payload, token = SECRET) => {
  const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': token }
  return { headers, raw: JSON.stringify(payload) }
}

// webhooks.telegram.secret, webhooks.telegram.project
test('Telegram calls: an order makes one task however often it comes, a stranger is not answered, a wrong token is refused', async t => {
  const telegram = await telegramServer(t)
  const project = gitProject(t)
  const { post, worked, world } = await webhookWorld(t, {
    PCC_WEBHOOKS_TELEGRAM_SECRET: SECRET,
    PCC_WEBHOOKS_TELEGRAM_PROJECT: project,
    PCC_NOTIFICATIONS_TELEGRAM_BOT_TOKEN: '99:secret',
    PCC_NOTIFICATIONS_TELEGRAM_CHAT_ID: '42',
    PCC_NOTIFICATIONS_TELEGRAM_BASE_URL: telegram.url,
  })
  const write = (text: string, { chat = 42, update_id = 1 } = {}) => {
    return { update_id, message: { message_id: 5, chat: { id: chat }, from: { id: 7, username: 'ann' }, text } }
  }
  assert.equal((await post('telegram', signed(write('/task mend it'), 'another token of others'))).status, 401)
  assert.equal((await post('telegram', signed(write('/task mend it')))).status, 202)
  await worked()
  // Telegram sends it again if the answer got lost, with the same id.
  assert.equal((await post('telegram', signed({ ...write('/task mend it'), again: 1 }))).status, 202)
  await worked()
  const tasks = await world.store.tasks.list({})
  assert.deepEqual(
    tasks.map(({ title, alias, project: of }) => [title, alias, of]),
    [['mend it', 'telegram:1', project]],
  )
  assert.match(tasks[0]?.description ?? '', /External text, from ann \(Telegram\)/)
  assert.match((await telegram.called('sendMessage')).text, /^t-[0-9a-f]+ is written down: mend it$/)
  await post('telegram', signed(write('/task steal it', { chat: 13, update_id: 2 })))
  const [, , stranger] = await worked()
  assert.equal(stranger?.outcome, 'a stranger wrote; left unanswered')
  await post('telegram', signed(write('/status', { update_id: 3 })))
  await worked()
  assert.match((await telegram.called('sendMessage', 3)).text, /1 ready/)
  assert.equal((await world.store.tasks.list({})).length, 1)
})

test('a button that somebody presses in Telegram answers by the webhook as by polling, and the daemon does not poll then', async t => {
  const telegram = await telegramServer(t)
  const agent = scriptedAgent(() => ({ asks: true }))
  const settings = {
    PCC_WEBHOOKS_TELEGRAM_SECRET: SECRET,
    PCC_NOTIFICATIONS_TELEGRAM_BOT_TOKEN: '99:secret',
    PCC_NOTIFICATIONS_TELEGRAM_CHAT_ID: '42',
    PCC_NOTIFICATIONS_TELEGRAM_BASE_URL: telegram.url,
  }
  const { post, worked, world, project } = await webhookWorld(t, settings, agent)
  const over = new AbortController()
  const { notifications } = (await loadConfig({ paths: world.daemon.paths, env: world.settings, project: null })).config
  const daemon = { ...world.daemon, stopping: over.signal }
  const notifying = runNotifications(daemon, { env: world.settings, since: 0, settings: notifications })
  const session = await world.start('build it', { project })
  await world.ended(session, 1)
  const { reply_markup: buttons } = await telegram.called('sendMessage')
  const [first] = buttons.inline_keyboard.flat() as { callback_data: string }[]
  const message = { message_id: 5, chat: { id: 42 } }
  const press = { id: 'q', from: { id: 7, username: 'ann' }, data: first?.callback_data, message }
  assert.equal((await post('telegram', signed({ update_id: 9, callback_query: press }))).status, 202)
  assert.equal((await worked()).at(-1)?.state, 'done')
  await world.when(session, view => view.status === 'completed')
  const answered = (await world.events(session)).find(({ kind }) => kind === 'question.answered')
  assert.match(JSON.stringify(answered?.body), /ann/)
  assert.equal(telegram.count('getUpdates'), 0)
  over.abort()
  await notifying
})

test('webhooks.prometheus.secret: Alertmanager shows its token; what it repeats makes no second task', async t => {
  const { post, worked, world, project } = await webhookWorld(t, { PCC_WEBHOOKS_PROMETHEUS_SECRET: SECRET })
  world.settings['PCC_WEBHOOKS_PROMETHEUS_PROJECT'] = project
  const alert = {
    ...{ status: 'firing', labels: { alertname: 'Slow' }, annotations: {}, startsAt: new Date().toISOString() },
    fingerprint: 'c0ffee',
  }
  const send = (payload: object, token: string) =>
    post('prometheus', {
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      raw: JSON.stringify(payload),
    })
  const message = { version: '4', groupKey: '{}', status: 'firing', receiver: 'pcc', alerts: [alert] }
  assert.equal((await send(message, 'another token of others')).status, 401)
  assert.equal((await send(message, SECRET)).status, 202)
  assert.equal((await send(message, SECRET)).status, 200)
  assert.equal((await send({ ...message, truncatedAlerts: 0 }, SECRET)).status, 202)
  assert.deepEqual(
    (await worked()).map(({ state }) => state),
    ['done', 'ignored'],
  )
  assert.deepEqual(
    (await world.store.tasks.list({})).map(({ title, labels }) => [title, labels]),
    [['Alert Slow', ' alert alertname:slow ']],
  )
})
