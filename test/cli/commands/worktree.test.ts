import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { gitProject } from '../../support/world.ts'
import { insertRun, openWorktreeFixture, write } from '../../workspace/worktrees/worktree-fixture.ts'
import { pccFor } from '../pcc.ts'

test('worktrees are listed, archived and restored, and prune keeps those that hold work', async t => {
  const pcc = pccFor(t)
  const paths = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(paths.database), { recursive: true })
  const project = gitProject(t)
  const world = await openWorktreeFixture(t, { project, root: join(paths.home, 'worktrees') })
  {
    await using store = await openStore({ file: paths.database })
    Object.assign(world.deps, { store, clock: systemClock })
    const idle = await world.make({ task: 't-aaaaaa' })
    // Slots stay while a run is open; a paused one begins nothing.
    await store.runs.update(await insertRun(store, project), { state: 'paused' })
    await store.worktrees.update(idle, { state: 'idle' })
    const place = await world.make({ task: 't-bbbbbb' })
    write(place.top, { 'precious.txt': 'p\n' })
  }
  const run = (...args: string[]) => pcc.run(['worktree', ...args])
  const listed = (await run('list')).stdout
  assert.match(listed, /^Task +Attempt +State +Project +For +Since +Where\n/)
  assert.match(listed, /t-bbbbbb +1 +live .* main .*\nt-aaaaaa +1 +idle /s)
  const closed = await run('open', 't-aaaaaa')
  assert.deepEqual([closed.code, closed.stdout], [2, ''], 'the next task may be there at any moment')
  const shown = await run('show', 'bbb')
  assert.match(shown.stdout, /removal +would be archived first: 1 file was not committed/)
  const { worktrees } = JSON.parse((await run('list', '--json')).stdout)
  const top = (task: string) => worktrees.find((each: { task: string }) => each.task === task)?.top
  assert.equal((await run('open', 't-bbbbbb')).stdout, `${top('t-bbbbbb')}\n`)

  const pruned = await run('prune')
  assert.match(pruned.stdout, /t-bbbbbb: stays, 1 file was not committed\./)
  assert.match(pruned.stdout, /t-aaaaaa: removed/)
  assert.deepEqual([existsSync(top('t-aaaaaa')), existsSync(join(top('t-bbbbbb'), 'precious.txt'))], [false, true])

  const removed = await run('remove', 't-bbbbbb')
  assert.match(removed.stdout, /archived to refs\/pcc\/archive\/t-bbbbbb\/1 \(1 file was not committed\)/)
  assert.equal(existsSync(top('t-bbbbbb')), false)
  assert.match((await run('list', '--all')).stdout, /t-bbbbbb +1 +archived/)
  const restored = JSON.parse((await run('restore', 't-bbbbbb', '--json')).stdout)
  assert.equal(readFileSync(join(restored.top, 'precious.txt'), 'utf8'), 'p\n')
  assert.match((await run('archive', 't-bbbbbb')).stdout, /archive\/t-bbbbbb\/2/)

  const again = await run('remove', 't-bbbbbb')
  assert.equal(again.code, 2)
  assert.match(again.stderr, /is archived, so this is not possible/)
  assert.match((await run('show', 't-nobody')).stderr, /No worktree was ever made for task t-nobody/)
})
