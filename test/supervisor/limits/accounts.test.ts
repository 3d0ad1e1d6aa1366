import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { openStore } from '../../../src/store/open.ts'
import { Accounts } from '../../../src/supervisor/limits/accounts.ts'
import { remedyFor } from '../../../src/supervisor/session/endings.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

test('a limit holds back the other sessions of its account before the next call of the model, and no session of another account', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const limited = aLiveSession({ account: 'a-1' })
  const same = aLiveSession({ account: 'a-1' })
  const other = aLiveSession({ account: 'a-2' })
  const { accounts } = sessionDepsOn(store, { live: [limited, same, other] })
  const closing = accounts.closeForLimit(limited, { source: 'result', message: 'full', resetsAt: 9_000 })
  assert.equal(same.control.pausing, 'gate', 'before the row is written')
  await closing
  assert.deepEqual([limited.control.pausing, other.control.pausing], [undefined, undefined])
})

test('sessions that wait may start when an account that a person opened before its time answers, and are told of that once', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const clock = { now: () => 1_000 }
  const gates = openAccountGates({ store, clock })
  const quota = openQuota({ store, clock, settings: async () => nestValues(defaultValues()).quota })
  let changes = 0
  const changed = () => {
    changes += 1
  }
  const accounts = new Accounts({ store, clock, gates, quota, live: () => [], changed })
  const live = aLiveSession({ account: 'a-1' })
  await accounts.closeForLimit(live, { source: 'result', message: 'full', resetsAt: 9_000 })
  await accounts.tryNow('a-1')
  assert.equal(changes, 0, 'the model has not answered yet')
  await accounts.answered(live)
  await accounts.answered(live)
  assert.equal(changes, 1)
})

test('work that waits for a login names the login, and the command with which it takes a key', () => {
  const { settings } = aLiveSession()
  const live = aLiveSession({}, { driver: { ...settings.driver, agent: 'claude' } })
  assert.equal(
    remedyFor('login', live),
    'Log in with: pcc agents login. Or, with a key: export ANTHROPIC_API_KEY=<new key> && pcc resume s-000001 --detach',
  )
})
