import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'
import { startDaemon } from '../daemon-process.ts'

test('a schedule whose time came while the daemon was dead fires once with the next one, and never again', async t => {
  const first = await startDaemon(t)
  const { home } = first
  const project = tempDir(t, 'pcc-project-')
  const when = { at: 'in 5h', zone: 'Europe/Berlin' }
  const set = await first.call<{ id: string }>('POST', '/schedules', {
    body: { project, target: { kind: 'project' }, env: {}, when },
  })
  assert.equal(set.status, 201)
  first.child.kill('SIGKILL')
  await first.ended
  {
    await using store = await openStore({ file: first.paths.database })
    const row = (await store.schedules.get(set.body.id)) ?? assert.fail('it is gone')
    assert.equal(row.state, 'waiting')
    assert.ok(await store.transaction(tx => store.schedules.move(row, { due_at: Date.now() - 3_600_000 }, tx)))
  }
  for (const life of [1, 2]) {
    const daemon = await startDaemon(t, { home })
    await using store = await openStore({ file: daemon.paths.database })
    for await (const { kind } of store.follow(0)) if (kind === 'run.ended') break
    const runs = await store.runs.list()
    assert.deepEqual(
      runs.map(({ outcome }) => outcome),
      ['no_plan'],
      `in life ${life}`,
    )
    const row = await store.schedules.get(set.body.id)
    assert.deepEqual([row?.state, row?.fired, row?.last_run_id], ['over', 1, runs[0]?.id])
    daemon.child.kill('SIGKILL')
    await daemon.ended
  }
})
