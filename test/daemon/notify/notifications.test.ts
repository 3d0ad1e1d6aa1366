import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { receiver } from '../../human/notify/notify-harness.ts'
import { telegramServer } from '../../human/notify/telegram-server.ts'
import { tempDir } from '../../support/world.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'

const OPTIONS = '[{ label: teal, description: "" }, { label: plum, description: "" }]'
const SCENARIO = `
conversations:
  - match: ask one
    turns:
      - tools:
          - AskUserQuestion: { questions: [{ question: Which hue for the moon?, header: Hue, multiSelect: false, options: ${OPTIONS} }] }
      - text: "You said: {{last_tool_result}}"
`

test('an unknown question is told, a press on Telegram answers it, and the end is told with its result', async t => {
  const telegram = await telegramServer(t)
  const world = await agentSessions(t, SCENARIO, {
    env: {
      PCC_NOTIFICATIONS_TELEGRAM_BOT_TOKEN: '99:secret-of-the-bot',
      PCC_NOTIFICATIONS_TELEGRAM_CHAT_ID: '42',
      PCC_NOTIFICATIONS_TELEGRAM_BASE_URL: telegram.url,
    },
  })
  const { id } = await world.start('ask one')
  await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const asked = await telegram.called('sendMessage')
  const told = Date.now()
  const parked = (await world.log(id)).find(({ kind }) => kind === 'question.parked')
  t.diagnostic(`told ${told - (parked?.time ?? 0)} ms after it was parked`)
  assert.match(asked.text, /Which hue for the moon\?\n {2}1\. teal\n {2}2\. plum/)

  const data = asked.reply_markup.inline_keyboard[1][0].callback_data
  const message = { message_id: 5, chat: { id: 42 }, text: asked.text }
  telegram.happen({ callback_query: { id: 'q', from: { id: 7, username: 'ann' }, data, message } })
  assert.match((await telegram.called('answerCallbackQuery')).text, /^Decision 1: answered by ann \(Telegram\)/)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.match(bodiesOf(await world.log(id), 'agent.said').at(-1)?.text ?? '', /You said: .*plum/)
  assert.match((await telegram.called('sendMessage', 2)).text, /completed\n\nTask: ask one\nYou said: .*plum/)

  world.daemon.child.kill('SIGTERM')
  assert.equal(await world.daemon.ended, 0, 'an open poll does not hold the daemon up')
  assert.doesNotMatch(readFileSync(join(world.daemon.paths.logs, 'daemon.log'), 'utf8'), /secret-of-the-bot/)
})

test('where no channel is set up nothing is loaded to tell people', async t => {
  const home = tempDir(t)
  mkdirSync(join(home, 'pcc'), { recursive: true })
  writeFileSync(join(home, 'pcc', 'config.toml'), '[notifications]\ndesktop = false\n')
  const daemon = await startDaemon(t, { home })
  daemon.child.kill('SIGTERM')
  assert.equal(await daemon.ended, 0)
  const log = readFileSync(join(daemon.paths.logs, 'daemon.log'), 'utf8')
  assert.doesNotMatch(log, /people are told/)
  assert.ok(existsSync(daemon.paths.database))
})

test('a server that refuses or hangs delays neither start nor stop', async t => {
  const hanging = await receiver(t, () => {})
  const daemon = await startDaemon(t, {
    env: {
      PCC_NOTIFICATIONS_SLACK_WEBHOOK: `${hanging.url}/x`,
      PCC_NOTIFICATIONS_TELEGRAM_BOT_TOKEN: '1:x',
      PCC_NOTIFICATIONS_TELEGRAM_CHAT_ID: '1',
      PCC_NOTIFICATIONS_TELEGRAM_BASE_URL: 'http://127.0.0.1:9',
    },
  })
  daemon.child.kill('SIGTERM')
  assert.equal(await daemon.ended, 0)
})
