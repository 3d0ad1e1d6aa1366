import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receiver } from '../../human/notify/notify-harness.ts'
import { pccFor } from '../pcc.ts'

test('pcc notify test sends on every channel that is set up and says which failed', async t => {
  const good = await receiver(t)
  const bad = await receiver(t, (_got, response) => void response.writeHead(403).end('no'))
  const { run } = pccFor(t, {
    PCC_NOTIFICATIONS_NTFY_SERVER: good.url,
    PCC_NOTIFICATIONS_NTFY_TOPIC: 'mine',
    PCC_NOTIFICATIONS_SLACK_WEBHOOK: `${bad.url}/s3cret`,
    PCC_NOTIFICATIONS_TELEGRAM_BOT_TOKEN: 'env:NOT_THERE',
    PCC_NOTIFICATIONS_TELEGRAM_CHAT_ID: '1',
    PCC_NOTIFICATIONS_DESKTOP: 'false',
  })
  const all = await run(['notify', 'test'])
  assert.equal(all.code, 1)
  assert.match(
    all.stdout,
    /^ntfy: sent\nslack: failed: 403 Forbidden: no\ntelegram: failed: .* takes NOT_THERE, which is not set here/,
  )
  assert.doesNotMatch(all.stdout, /s3cret/)
  assert.deepEqual([good.got[0]?.body.topic, good.got[0]?.body.title], ['mine', 'PerpetualCC: test'])
  const one = await run(['notify', 'test', '--channel', 'ntfy', '--json'])
  assert.deepEqual([one.code, JSON.parse(one.stdout)], [0, { channels: [{ channel: 'ntfy', ok: true }] }])
})

test('pcc notify test says so if nobody would be notified', async t => {
  const { run } = pccFor(t, { PCC_NOTIFICATIONS_DESKTOP: 'false' })
  const none = await run(['notify', 'test'])
  assert.equal(none.code, 2)
  assert.match(
    none.stderr,
    /No notification can be sent: no channel is set up\.[\s\S]*pcc config set notifications\.ntfy\.topic/,
  )
  const wrong = await run(['notify', 'test', '--channel', 'bogus'])
  assert.equal(wrong.code, 2)
  assert.match(
    wrong.stderr,
    /Allowed choices are desktop, bell, ntfy, slack, telegram\.\n {2}next: See: pcc notify test --help/,
  )
  const off = await run(['notify', 'test'], { env: { PCC_NOTIFICATIONS_ENABLED: 'false' } })
  assert.match(off.stderr, /notifications\.enabled is false/)
})
