import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

test('a limit holds back the other sessions of its account before the next call of the model, and no session of another account', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const limited = aLiveSession({ account: 'a-1' })
  const same = aLiveSession({ account: 'a-1' })
  const other = aLiveSession({ account: 'a-2' })
  const { accounts } = sessionDepsOn(store, { live: [limited, same, other] })
  const closing = accounts.shut(limited, { source: 'result', message: 'full', resetsAt: 9_000 })
  assert.equal(same.pausing, 'gate', 'before the row is written')
  await closing
  assert.deepEqual([limited.pausing, other.pausing], [undefined, undefined])
})
