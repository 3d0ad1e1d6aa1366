import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import type { NewAuditEntry } from '../../src/store/store.ts'
import { tempDir } from '../support/world.ts'
import { DATABASES } from './databases.ts'

const ENTRY: NewAuditEntry = {
  ...{ time: 1_000, caller: 'ci', via: 'key', scope: 'work', action: 'POST /tasks', target: '', request_id: 'r-1' },
}

for (const { name, open } of DATABASES) {
  test(`${name}: a change that failed is one entry with its status, and the newest entry comes first`, async t => {
    const store = await open(t)
    const first = await store.audit.add(ENTRY)
    await store.audit.fail({ ...ENTRY, id: first }, 409)
    const second = await store.audit.add({ ...ENTRY, time: 2_000, caller: 'you' })
    const shown = async (filter = {}) =>
      (await store.audit.list({ limit: 10, ...filter })).map(({ id, failed }) => [id, failed])
    assert.deepEqual(await shown(), [
      [second, null],
      [first, 409],
    ])
    assert.deepEqual(await shown({ since: 1_500 }), [[second, null]])
    assert.deepEqual(await shown({ caller: 'ci' }), [[first, 409]])
    assert.deepEqual(await shown({ before: second }), [[first, 409]])
    assert.deepEqual(await shown({ limit: 1 }), [[second, null]])
  })

  test(`${name}: the name of a key is used once`, async t => {
    const store = await open(t)
    const key = { id: 'k-000001', name: 'ci', hash: '00', scope: 'read' as const, project: null, system: null }
    const times = { created_at: 1, expires_at: null, revoked_at: null, last_used_at: null }
    assert.equal(await store.apiKeys.insert({ ...key, ...times }), true)
    assert.equal(await store.apiKeys.insert({ ...key, ...times, id: 'k-000002' }), false)
    await store.apiKeys.update('k-000001', { revoked_at: 5 })
    assert.deepEqual(await store.apiKeys.list(), [{ ...key, ...times, revoked_at: 5 }])
  })
}

test('the database itself refuses to change, delete and replace what is in the audit log', async t => {
  const file = join(tempDir(t), 'pcc.db')
  const store = await openStore({ file })
  await store.audit.add(ENTRY)
  await store.close()
  using db = new DatabaseSync(file)
  const replace = `insert or replace into audit (id, time, caller, via, scope, action, target, request_id)
    values (1, 1, 'you', 'socket', 'admin', 'x', '', '')`
  for (const statement of ["update audit set caller = 'you'", 'delete from audit', replace])
    assert.throws(() => db.exec(statement), /audit is append-only/, statement)
  assert.equal(db.prepare('select caller from audit').get()?.['caller'], 'ci')
})
