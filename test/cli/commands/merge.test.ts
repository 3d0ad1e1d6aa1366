import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import type { Merge } from '../../../src/domain/merge.ts'
import { openStore } from '../../../src/store/open.ts'
import { pccFor } from '../pcc.ts'

const row = (task_id: string, more: Partial<Merge>): Omit<Merge, 'id'> => ({
  ...{ task_id, attempt: 1, project: '/p', repository: '/p/.git', branch: `pcc/${task_id}`, target: 'main' },
  ...{ strategy: 'rebase', state: 'review', reason: null, base: null, head: 'h', result: null, batch: null },
  ...{ as_pull_request: 0, rounds: 0, cleaned_at: null, created_at: Date.now(), updated_at: Date.now() },
  ...more,
})

test('a person sees merges and why each waits, calls one off, and learns what cannot be done', async t => {
  const pcc = pccFor(t)
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  {
    await using store = await openStore({ file: database })
    await store.transaction(async tx => {
      await store.merges.insert(row('t-aaaaaa', { state: 'conflicted', reason: 'conflicts with main in a.txt' }), tx)
      await store.merges.insert(row('t-bbbbbb', {}), tx)
      await store.merges.insert(row('t-cccccc', { state: 'merged', cleaned_at: 1 }), tx)
    })
  }
  const run = (...args: string[]) => pcc.run(['merge', ...args])
  const { stdout } = await run('list')
  assert.match(
    stdout,
    /^No +Task +State +Into +Since +What\n1 +t-aaaaaa +conflict +main .*\n +conflicts with main in a\.txt\n2 +t-bbbbbb +review/,
  )
  assert.doesNotMatch(stdout, /t-cccccc/)
  const { merges } = JSON.parse((await run('list', '--all', '--json')).stdout)
  assert.deepEqual(
    merges.map(({ task_id, ahead, title }: { task_id: string; ahead: number; title: null }) => [task_id, ahead, title]),
    [
      ['t-aaaaaa', 0, null],
      ['t-bbbbbb', 1, null],
      ['t-cccccc', 0, null],
    ],
  )
  assert.equal(
    (await run('abort', 'bbb')).stdout,
    't-bbbbbb: called off. Its work is on pcc/t-bbbbbb: pcc diff t-bbbbbb\n',
  )
  assert.match((await run('list', '--all')).stdout, /t-bbbbbb +called off .*\n +called off by a person/)
  const refused = await run('abort', 't-cccccc')
  assert.deepEqual([refused.code, /Merge 3 of task t-cccccc is merged/.test(refused.stderr)], [2, true])
  assert.match((await run('retry', '1')).stderr, /Merge 1 of task t-aaaaaa is conflicted/)
  assert.match((await run('retry', 't-nobody')).stderr, /There is no merge "t-nobody"/)
})
