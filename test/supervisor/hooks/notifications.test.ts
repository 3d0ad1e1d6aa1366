import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildNotices } from '../../../src/human/notify/build-notices.ts'
import { openStore } from '../../../src/store/open.ts'
import { passOn } from '../../../src/supervisor/hooks/notifications.ts'
import { tempDir } from '../../support/world.ts'
import { answerBy, openHookWorld } from './hook-world.ts'

test('what an agent tells its person becomes one notice, the same some minutes later another one, and there are not many in an hour', async t => {
  const world = openHookWorld(t)
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  let now = 1_000_000
  const pass = passOn({ append: async event => void (await store.append([event])), now: () => now })
  const tell = (text: string, more: object = {}) =>
    answerBy(pass, world.event('notification', { text, ...more }), world.context())
  const text = 'Claude needs your permission; token=abcdefgh12345678'
  await Promise.all([tell(text, { type: 'permission_prompt' }), tell(text, { type: 'permission_prompt' }), tell(' ')])
  const stored = () => store.events({ kinds: ['agent.notified'] })
  assert.equal((await stored()).length, 1)
  now += 11 * 60_000
  await tell(text, { type: 'permission_prompt' })
  await tell('It failed', { type: 'error' })
  const notices = (await Promise.all((await stored()).map(event => buildNotices(event, { store, hidden: [] })))).flat()
  assert.deepEqual(
    notices.map(({ kind }) => kind),
    ['question', 'question', 'error'],
  )
  assert.equal(new Set(notices.map(({ key }) => key)).size, 3)
  assert.match(notices[0]?.title ?? '', /^claude in /)
  assert.match(notices[0]?.text ?? '', /needs your permission; token=\[hidden\]/)

  const before = (await stored()).length
  for (let at = 0; at < 40; at++) await tell(`look ${at}`, { session: `c-${at}` })
  assert.equal((await stored()).length - before, 30 - 3, 'a script that calls the hook itself does not fill a phone')
  now += 61 * 60_000
  await tell('an hour later')
  assert.equal((await stored()).length - before, 30 - 3 + 1)
  now -= 5 * 3_600_000
  await tell('an hour later')
  assert.equal((await stored()).length - before, 30 - 3 + 2, 'a clock that was set back silences nothing')
})
