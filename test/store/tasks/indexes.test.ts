import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

const BEGUN = `select * from tasks where session_id = ? and state in ('running', 'verifying', 'merging', 'waiting')`

test('the tasks of a session are found without looking at those of others, and a task of no session stands in no index of sessions', async t => {
  const file = join(tempDir(t), 'store.db')
  await (await openStore({ file })).close()
  using database = new DatabaseSync(file)
  const planOf = (query: string) => JSON.stringify(database.prepare(`explain query plan ${query}`).all('s-1'))
  for (const query of [BEGUN, 'select * from tasks where session_id = ? order by position']) {
    assert.match(planOf(query), /SEARCH tasks USING INDEX tasks_(session|at_work)/)
  }
  const indexes = database.prepare(`select name, sql from sqlite_master where type = 'index' and tbl_name = 'tasks'`)
  const ofSessions = indexes.all().filter(({ sql }) => /\(session_id/.test(String(sql)))
  assert.deepEqual(ofSessions.map(({ name }) => name).sort(), ['tasks_at_work', 'tasks_ready', 'tasks_session'])
  for (const { sql } of ofSessions) assert.match(String(sql), /session_id is not null/)
})

test('the tasks of a project are listed in order without being sorted', async t => {
  const file = join(tempDir(t), 'store.db')
  await (await openStore({ file })).close()
  using database = new DatabaseSync(file)
  const plan = database.prepare('explain query plan select * from tasks where project = ? order by position').all('/p')
  assert.match(JSON.stringify(plan), /USING INDEX tasks_listed/)
  assert.doesNotMatch(JSON.stringify(plan), /TEMP B-TREE/)
})
