import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TmuxSessionFolder } from '../../../src/agents/tmux/session-folder.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { secretId } from '../../../src/base/ids.ts'
import { silentLog } from '../../../src/base/log.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { isAlive, startTimeOf } from '../../../src/base/process/process-table.ts'
import { readBefore, saveBefore } from '../../../src/base/sandbox/planted.ts'
import { sweepLeftovers } from '../../../src/daemon/recovery.ts'
import { openStore } from '../../../src/store/open.ts'
import { commandMarkers } from '../../../src/workspace/command/run-command.ts'
import { undying } from '../../support/undying.ts'
import { gitProject, tempDir } from '../../support/world.ts'

const PATH = '/usr/bin:/bin'

/** A process that waits and is ended with the test; with `orphan` the process that started it is gone. */
async function sleeper(t: TestContext, { cwd = '/', env = {}, orphan = false }) {
  const script = orphan ? 'sleep 600 & echo $!' : 'echo $$; exec sleep 600'
  const child = spawn('/bin/sh', ['-c', script], { cwd, env: { PATH, ...env }, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(child.stdout, 'data')
  const pid = Number(String(line))
  if (orphan && child.exitCode === null) await once(child, 'exit')
  const startTime = (await startTimeOf(pid)) ?? ''
  t.after(async () => (await isAlive({ pid, startTime })) && process.kill(pid, 'SIGKILL'))
  return { pid, startTime }
}

test('what a dead daemon left is ended by marker, by recorded tree and by directory, counted, and nobody else is touched', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  const worktree = join(paths.home, 'worktrees', 'one')
  const project = tempDir(t, 'pcc-project-')
  mkdirSync(worktree, { recursive: true })
  await using store = await openStore({ file: join(paths.home, 'db') })
  const insert = (id: string, marker: string, more: object) =>
    store.sessions.insert({ id, name: id, project, task: 't', agent: 'claude', owner: 'boot-gone', marker, ...more })

  const value = secretId()
  const { name } = sessionMarker(value)
  const marked = await sleeper(t, { env: { [name]: value } })
  await insert('s-marked', value, {})
  const recorded = await sleeper(t, {})
  await insert('s-recorded', 'none', { agent_pid: recorded.pid, agent_started: recorded.startTime })
  const strayed = await sleeper(t, { cwd: worktree, orphan: true })
  const place = { directory: worktree, top: worktree, task: 't-000001', attempt: 1 }
  const git = { branch: 'pcc/t-000001', target: 'main', base: 'c0ffee' }
  await insert('s-strayed', 'none', { options: { project, task: 't', place: { ...place, ...git } } })

  // Its agent ran in a terminal of its own.
  const repository = gitProject(t)
  const checkout = { top: repository, own: join(repository, '.git'), common: join(repository, '.git') }
  await insert('s-terminal', 'none', { options: { project, task: 't', host: 'tmux' } })
  const { box } = new TmuxSessionFolder(paths.run, 's-terminal')
  mkdirSync(join(box, 'own'), { recursive: true })
  saveBefore(join(box, 'own'), { git: checkout }, readBefore(checkout))
  symlinkSync(join(paths.home, 'victim'), join(checkout.own, 'COMMIT_EDITMSG.link'))

  const reused = await sleeper(t, {})
  await insert('s-reused', 'none', { agent_pid: reused.pid, agent_started: `${reused.startTime}0` })
  const own = { shell: await sleeper(t, { cwd: worktree }), server: await sleeper(t, { cwd: project, orphan: true }) }
  const running = await sleeper(t, { env: { [name]: 'ours' } })
  await insert('s-running', 'ours', { owner: 'boot-now' })

  const world = { store, bootId: 'boot-now', log: silentLog, paths }
  const { swept, stuck } = await sweepLeftovers(world)
  assert.deepEqual(swept, { marker: 1, tree: 1, directory: 1, left: 0 })
  assert.deepEqual([...stuck], [])
  const alive = async (each: typeof marked) => ((await isAlive(each)) ? 'alive' : 'gone')
  assert.deepEqual(await Promise.all([marked, recorded, strayed].map(alive)), ['gone', 'gone', 'gone'])
  const spared = [reused, own.shell, own.server, running]
  assert.deepEqual(await Promise.all(spared.map(alive)), ['alive', 'alive', 'alive', 'alive'])
  const markers = (await store.sessions.list()).flatMap(({ id, marker }) => (marker === null ? [] : [id]))
  assert.deepEqual(markers, ['s-running'], 'what is swept is not swept again')
  assert.equal(existsSync(box), false)
  assert.equal(lstatSync(join(checkout.own, 'COMMIT_EDITMSG.link'), { throwIfNoEntry: false }), undefined)
})

test('a session of which a process withstands is told of, and alone keeps what it is found by', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  await using store = await openStore({ file: join(paths.home, 'db') })
  for (const how of ['marker', 'tree'] as const) {
    const value = secretId()
    const left = await undying(t, value)
    const recorded = { agent_pid: left.pid, agent_started: left.startTime }
    const [held, other] = [`s-${how}`, `s-${how}-other`]
    const row = { project: '/nowhere', task: 't', agent: 'claude', owner: 'boot-gone' }
    const found = how === 'marker' ? { marker: value } : { marker: 'another', ...recorded }
    await store.sessions.insert({ id: held, name: held, ...row, ...found })
    await store.sessions.insert({ id: other, name: other, ...row, marker: 'none' })
    const { swept, stuck } = await sweepLeftovers({ store, bootId: 'boot-now', log: silentLog, paths })
    assert.deepEqual([[...stuck], swept.left], [[held], 1])
    const marked = (await store.sessions.list()).flatMap(({ id, marker }) => (marker === null ? [] : [id]))
    assert.deepEqual(marked, [held], 'the next look finds it by this')
    left.yield()
    t.mock.restoreAll()
    const again = await sweepLeftovers({ store, bootId: 'boot-now', log: silentLog, paths })
    assert.deepEqual([[...again.stuck], again.swept.left], [[], 0])
    assert.equal((await store.sessions.get(held))?.marker, null)
  }
})

test('a gate’s command that a dead daemon left is ended, and its checkout of the base is gone', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  await using store = await openStore({ file: join(paths.home, 'db') })
  const value = secretId()
  const command = await sleeper(t, { env: { [sessionMarker(value).name]: value }, orphan: true })
  const markers = commandMarkers(paths.run)
  markers.note(value)
  const base = join(paths.run, 'bases', 'base-1')
  mkdirSync(base, { recursive: true })
  const { swept } = await sweepLeftovers({ store, bootId: 'boot-now', log: silentLog, paths })
  assert.equal(swept.marker, 1)
  assert.equal(await isAlive(command), false)
  assert.deepEqual(markers.all(), [])
  assert.ok(!existsSync(base))
})
