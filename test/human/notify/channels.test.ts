import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ntfyChannel, slackChannel } from '../../../src/human/notify/channels.ts'
import { desktopChannel, findDesktop } from '../../../src/human/notify/desktop.ts'
import { type NotifyMessage, toSafeText } from '../../../src/human/notify/notice.ts'
import { fakeDesktop, receiver } from './notify-harness.ts'

const never = new AbortController().signal
const message = (title: string, text: string): NotifyMessage => ({ kind: 'question', title, text, sound: true })

test('on the desktop an agent’s words are arguments: no shell, no script, no option and no markup', async t => {
  const { env, file, dir } = fakeDesktop(t)
  const evil = `"; touch ${join(dir, 'pwned')}; $(touch ${join(dir, 'pwned')}) \`x\` " & (do shell script "id") & "`
  for (const platform of ['linux', 'darwin']) {
    const desktop = findDesktop(env, platform)
    assert.ok(desktop)
    const sent = await desktopChannel(desktop, env).send(message('--help', `${evil}<b>bold</b>`), never)
    assert.deepEqual(sent, { ok: true })
  }
  const [linux = [], mac = []] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as string[])
  assert.deepEqual(linux.slice(-3, -1), ['--', '--help'])
  assert.equal(
    linux.at(-1),
    `${evil}<b>bold</b>`.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  )
  assert.deepEqual(mac.slice(-3), ['PerpetualCC', '--help', `${evil}<b>bold</b>`])
  assert.deepEqual(
    mac.slice(0, -3).filter(each => each !== '-e'),
    [
      'on run argv',
      'display notification (item 3 of argv) with title (item 1 of argv) subtitle (item 2 of argv) sound name "Ping"',
      'end run',
    ],
    'the script is the same whatever an agent says',
  )
  assert.equal(existsSync(join(dir, 'pwned')), false)
})

test('a desktop program that fails or is not there is a problem in words, not a throw', async t => {
  const { env } = fakeDesktop(t)
  const sent = await desktopChannel({ program: '/nowhere/notify-send', via: 'notify-send' }, env).send(
    message('a', 'b'),
    never,
  )
  assert.ok(!sent.ok)
  assert.match(sent.problem, /ENOENT/)
})

test('every failure of a server is a value, without the secret that is part of the address', async t => {
  const failing = await receiver(t, (_got, response) => {
    response.writeHead(404, { 'retry-after': '30' }).end('no hook at /services/T0/SECRET here')
  })
  const sent = await slackChannel(`${failing.url}/services/T0/SECRET`).send(message('a', 'b'), never)
  assert.ok(!sent.ok)
  assert.match(sent.problem, /^404 .*no hook at \[hidden\] here/)
  assert.equal(sent.retryAfterMs, 30_000)

  const dropping = await receiver(t, (_got, response) => void response.destroy())
  const gone = await ntfyChannel({ server: dropping.url, topic: 'x' }).send(message('a', 'b'), never)
  assert.equal(gone.ok, false)

  const elsewhere = await receiver(t)
  const sending = await receiver(t, (_got, response) => {
    response.writeHead(307, { location: elsewhere.url }).end()
  })
  const moved = await ntfyChannel({ server: sending.url, topic: 'x', token: 'tk' }).send(message('a', 'b'), never)
  assert.equal(moved.ok, false)
  assert.deepEqual(elsewhere.got, [], 'a redirect is not followed: it would carry the token away')
})

test('what looks like a secret is taken out, what does not stays', () => {
  const cases: [string, string][] = [
    ['key sk-ant-api03-AAAAAAAAAAAA end', 'key sk-[hidden] end'],
    ['ghp_0123456789abcdef0123', 'ghp_[hidden]'],
    ['AWS_SECRET_ACCESS_KEY=abc/def+ghi', 'AWS_SECRET_ACCESS_KEY=[hidden]'],
    ['{"password": "hunter22"}', '{"password": "[hidden]"}'],
    ['https://ann:pa55word@host/x', 'https://ann:[hidden]@host/x'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', '[hidden token]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after', '[hidden key] after'],
    ['bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw', 'bot [hidden token]'],
    ['my-own-secret-value', '[hidden]'],
    ['sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'sk_live_[hidden]'],
    ['SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc', 'SG.[hidden]'],
    ['deploy --password hunter --yes', 'deploy --password [hidden] --yes'],
    ['tool --api-key "a b c" --db-password=x9x9', 'tool --api-key [hidden] --db-password=[hidden]'],
    ['gh auth --with-token abcd1234 now', 'gh auth --with-token [hidden] now'],
    ['curl -su ann:swordfish https://x.test', 'curl -su ann:[hidden] https://x.test'],
    ['curl https://x.test --user "ann:swordfish"', 'curl https://x.test --user "ann:[hidden]"'],
    ['mysql -u root -pswordfish shop', 'mysql -u root -p[hidden] shop'],
    ['sshpass -p swordfish ssh ann@host', 'sshpass -p [hidden] ssh ann@host'],
    ['Should I add a --token flag, or --api-key?', 'Should I add a --token flag, or --api-key?'],
    ['docker run -u 1000:1000 img; mkdir -p a/b', 'docker run -u 1000:1000 img; mkdir -p a/b'],
    ['npm publish --token --dry-run', 'npm publish --token --dry-run'],
    ['Which token bucket size? 10:30 or src/auth.ts:12', 'Which token bucket size? 10:30 or src/auth.ts:12'],
    ['Should the secret santa page be green?', 'Should the secret santa page be green?'],
  ]
  for (const [text, expected] of cases) assert.equal(toSafeText(text, 500, ['my-own-secret-value']), expected)
  assert.equal(
    toSafeText('a\x1b]0;title\x07b\x9b31mc\x85\u2066d\ne', 500),
    'a␛]0;title␇b⟨U+009B⟩31mc⟨U+0085⟩⟨U+2066⟩d\ne',
  )
  assert.equal(toSafeText('x'.repeat(50), 10), `${'x'.repeat(9)}…`)
})

test('no text that an agent thinks of keeps the daemon busy: one like these once took seven minutes', () => {
  for (const piece of ['--password', 'token', '-u', 'curl -u ', '-', 'mysql -', 'a://b:', 'secret_']) {
    assert.ok(toSafeText(piece.repeat(20_000 / piece.length), 100).length <= 100)
  }
})
