import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { WarmMarkers } from '../../../src/supervisor/session/warm-processes.ts'
import { until } from '../../agents/conformance/world.ts'
import { tempDir } from '../../support/world.ts'
import { type RealWorld, realWorld } from '../completion/real-world.ts'
import { type DaemonProcess, startDaemon } from '../daemon-process.ts'

// One process of the real Claude Code does several tasks of a run in the project itself, each in a conversation of its own.

const NAMES = ['alpha', 'bravo', 'charlie', 'delta']
const SCENARIO = JSON.stringify({
  conversations: NAMES.map(name => ({
    // The journal names the other tasks too.
    match: { regex: `## Your task: \\S+\\n\\nnote ${name}` },
    turns: [
      { tools: [{ Read: { file_path: '{{cwd}}/README.md' } }] },
      { tools: [{ Write: { file_path: `{{cwd}}/${name}.txt`, content: name } }] },
      // Long enough to look at its process meanwhile.
      { text: `Noted ${name}.`, latency: 500 },
    ],
    otherwise: { text: `Noted ${name} already.` },
  })),
})
const SETTINGS = { PCC_WORKTREES_MODE: 'off', PCC_GATES_UNPROVEN: 'allow' }

interface Row {
  id: string
  task: string
  vendor_id: string
  marker: string | null
  agent_pid: number | null
  input_tokens: number
  cost_usd: number
}

function rowsOf({ paths }: DaemonProcess): Row[] {
  using db = new DatabaseSync(paths.database, { readOnly: true })
  return db.prepare('select * from sessions order by started_at').all() as unknown as Row[]
}

/** The process of each task, read when its model is asked for the last time. */
async function readPids({ simulator }: RealWorld, daemon: DaemonProcess, names: string[]): Promise<(number | null)[]> {
  const pids: (number | null)[] = []
  for (const name of names) {
    await simulator.waitForRequest(({ tool_results }) => tool_results.some(({ text }) => text.includes(`${name}.txt`)))
    pids.push(rowsOf(daemon).find(({ agent_pid }) => agent_pid !== null)?.agent_pid ?? null)
  }
  return pids
}

test('tasks of a run share a process, up to execution.tasks_per_process, and each has its own conversation, log and cost', async t => {
  const world = await realWorld(t, SCENARIO, { 'README.md': '# sample\n' })
  const daemon = await startDaemon(t)
  for (const name of NAMES.slice(0, 3)) await world.add(daemon, `note ${name}`)
  const settings = { ...SETTINGS, PCC_EXECUTION_TASKS_PER_PROCESS: '2' }
  const run = await world.begin(daemon, { settings })
  const [first, second, third] = await readPids(world, daemon, NAMES.slice(0, 3))
  assert.equal((await world.over(daemon, run)).outcome, 'complete')
  assert.ok(first && third)
  assert.equal(second, first)
  assert.notEqual(third, first)
  const rows = rowsOf(daemon)
  assert.equal(new Set(rows.map(row => row.vendor_id)).size, 3)
  assert.deepEqual(
    rows.map(({ marker, agent_pid }) => [marker, agent_pid]),
    [null, null, null].map(() => [null, null]),
  )
  const [tokens = 0] = rows.map(row => row.input_tokens)
  for (const row of rows) assert.ok(row.input_tokens < tokens * 1.2 && row.cost_usd > 0, 'a task pays for itself only')
  await until(() => new WarmMarkers(daemon.paths.run).all().length === 0)
  const kinds = async ({ id }: Row) => {
    const { events } = (await daemon.call<{ events: StoredEvent[] }>('GET', `/sessions/${id}/events`)).body
    return events.map(({ kind }) => kind)
  }
  const [cold, reused] = await Promise.all(rows.slice(0, 2).map(kinds))
  assert.deepEqual(reused, cold)
  const asked = world.simulator.requests.filter(({ first_prompt }) => first_prompt.includes('\n\nnote bravo'))
  assert.ok(asked.length > 0)
  const said = JSON.stringify(asked.map(({ body }) => body)).replaceAll(/<journal>[\s\S]*?<\/journal>/g, '')
  assert.equal(said.includes('Noted alpha'), false, 'no word of the task before is in the next request')
})

test('tasks in worktrees share a process as long as they work in the same slot', async t => {
  const world = await realWorld(t, SCENARIO, { 'README.md': '# sample\n' })
  const daemon = await startDaemon(t)
  for (const name of NAMES.slice(0, 3)) await world.add(daemon, `note ${name}`)
  const settings = { PCC_GATES_TEST: 'test -f README.md' }
  const run = await world.begin(daemon, { settings })
  const pids = await readPids(world, daemon, NAMES.slice(0, 3))
  assert.equal((await world.over(daemon, run)).outcome, 'complete')
  assert.ok(pids[0])
  assert.deepEqual(pids, [pids[0], pids[0], pids[0]], 'one process did all three')
  const files = world.git('ls-tree', '--name-only', 'main').split('\n')
  assert.deepEqual(files, ['README.md', 'alpha.txt', 'bravo.txt', 'charlie.txt'], 'each was verified and merged')
  await until(() => world.git('worktree', 'list').split('\n').length === 1)
  assert.deepEqual(new WarmMarkers(daemon.paths.run).all(), [], 'the process went before its slot')
})

test('a task that is reset while its idle process is kept in its slot begins again, because pcc ends that process', async t => {
  const world = await realWorld(t, SCENARIO, { 'README.md': '# sample\n' })
  const daemon = await startDaemon(t)
  const task = await world.add(daemon, 'note alpha')
  // Its process is kept for this one.
  await world.add(daemon, 'note bravo')
  await world.begin(daemon, {
    settings: { PCC_GATES_TEST: 'no-such-program-here', PCC_EXECUTION_PARALLEL: '1' },
  })
  const attempts = () => {
    using db = new DatabaseSync(daemon.paths.database, { readOnly: true })
    return db.prepare('select id from sessions where task_id = ?').all(task).length
  }
  const stateOf = () => {
    using db = new DatabaseSync(daemon.paths.database, { readOnly: true })
    return db.prepare('select state from tasks where id = ?').get(task)?.['state']
  }
  await until(() => stateOf() === 'verifying' && new WarmMarkers(daemon.paths.run).all().length > 0)
  assert.equal((await daemon.call('POST', `/tasks/${task}/reset`, { body: {} })).status, 200)
  await until(() => attempts() === 2)
})

test('a daemon that is killed between two tasks, or while a conversation is cleared, leaves no process, and each task ends once', async t => {
  const world = await realWorld(t, SCENARIO, { 'README.md': '# sample\n' })
  const home = tempDir(t)
  const tasks: string[] = []
  let run = ''
  const died: string[][] = []
  for (const point of ['keep.after-release', 'clear.before', 'clear.after', undefined]) {
    const daemon = await startDaemon(t, { home, env: point === undefined ? {} : { PCC_CRASH_AT: point } })
    if (run === '') {
      for (const name of NAMES) tasks.push(await world.add(daemon, `note ${name}`))
      run = await world.begin(daemon, { settings: SETTINGS })
    }
    if (point !== undefined) {
      await daemon.ended
      const files = new WarmMarkers(daemon.paths.run).all()
      const markers = [...rowsOf(daemon).flatMap(row => row.marker ?? []), ...files]
      assert.ok(markers.length > 0, 'the next daemon knows where to look')
      died.push(markers)
      continue
    }
    const { outcome, attempts } = await world.over(daemon, run)
    assert.equal(outcome, 'complete')
    assert.ok(attempts.length <= NAMES.length + died.length, 'a death costs one attempt at most')
    for (const marker of died.flat()) assert.deepEqual(await findMarked(sessionMarker(marker)), [])
    for (const id of tasks) {
      const { events } = (await daemon.call<{ events: StoredEvent[] }>('GET', `/tasks/${id}/log`)).body
      assert.equal(events.filter(({ kind }) => kind === 'task.finished').length, 1)
    }
    for (const name of NAMES) assert.equal(readFileSync(join(world.project, `${name}.txt`), 'utf8'), name)
  }
})
