import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import type { RunDetail } from '../../../src/domain/run.ts'
import { WarmMarkers } from '../../../src/supervisor/session/warm-processes.ts'
import { gateIn } from '../../support/gate.ts'
import { bareEnv, tempDir, UNPROVEN_ALLOWED } from '../../support/world.ts'
import { agentSessions } from '../agent-sessions.ts'
import { startDaemon } from '../daemon-process.ts'

// With the real agent, in worktrees and sandboxes: the process for the next task of a run, from its start to its end.

const SCENARIO = `
conversations:
  - match: ask for more
    turns: [{ tools: [{ Bash: { command: cat gate } }] }, { text: "Hard.\\n<next-model>opus</next-model>" }]
  - match: dig a hole
    turns: [{ tools: [{ Bash: { command: cat gate } }] }, { text: Dug. }]
  - match: fill it
    turns: [{ tools: [{ Bash: { command: cat gate } }] }, { text: Filled. }]
`

async function digging(t: TestContext, tasks: string[]) {
  const world = await agentSessions(t, SCENARIO)
  const { daemon, project, env } = world
  const gate = gateIn(t, project)
  const markers = new WarmMarkers(daemon.paths.run)
  const settings = {
    PCC_AGENTS_SANDBOX_READ: dirname(gate),
    PCC_EXECUTION_WARM_CORES: '0',
    PCC_EXECUTION_TASKS_PER_PROCESS: '1',
  }
  const add = (title: string, more: object = {}) => daemon.call('POST', '/tasks', { body: { project, title, ...more } })
  for (const title of tasks) await add(title)
  return {
    ...world,
    markers,
    add,
    /** The folders that git keeps for worktrees, and the worktrees. */
    worktrees: () => ({
      known: entriesOf(join(project, '.git', 'worktrees')),
      there: entriesOf(join(daemon.paths.home, 'worktrees')).flatMap(name =>
        entriesOf(join(daemon.paths.home, 'worktrees', name)).filter(each => !each.startsWith('.')),
      ),
    }),
    async run({ settings: more = {}, ...rest }: { settings?: Record<string, string>; limit?: number } = {}) {
      const body = {
        project,
        target: { kind: 'project' },
        env,
        settings: { ...UNPROVEN_ALLOWED, ...settings, ...more },
        ...rest,
      }
      return (await daemon.call<RunDetail>('POST', '/runs', { body })).body.id
    },
    /** Lets the command that reads the gate end. */
    open: () => writeFile(gate, 'open'),
    /** The waiting process, once it is ready, and its marker. */
    async waiting() {
      const [marker = ''] = await until(async () => {
        const [noted] = markers.all()
        const found = noted === undefined ? [] : await findMarked(sessionMarker(noted))
        return found.length > 0 && noted !== undefined ? [noted] : undefined
      })
      return { marker: sessionMarker(marker), pids: (await findMarked(sessionMarker(marker))).map(({ pid }) => pid) }
    },
    /** The agent of the session that works on a task, once it runs its command. */
    async agentAt(text: string) {
      const { prompt } = await world.simulator.waitForRequest(request => request.first_prompt.includes(text))
      assert.ok(prompt)
      return until(async () => agentPid(daemon.paths.database, text))
    },
  }
}

/** Polls until there is a value. */
async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const found = await ask()
    if (found !== undefined) return found
    assert.ok(Date.now() < deadline, 'it never came')
    await sleep(20)
  }
}

function entriesOf(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}

function agentPid(database: string, task: string): number | undefined {
  using db = new DatabaseSync(database, { readOnly: true })
  const row = db.prepare('select agent_pid from sessions where task = ? and agent_pid is not null').get(task)
  return row ? Number(row['agent_pid']) : undefined
}

test('the second task of a run is worked on by the process that waited, and its log is that of a cold start', async t => {
  const { daemon, run, open, waiting, agentAt, add, log, markers, simulator } = await digging(t, [
    'dig a hole',
    'fill it',
  ])
  const id = await run()
  await agentAt('dig a hole')
  const { pids } = await waiting()
  assert.equal(simulator.requests.length, 1, 'it has said nothing to the model')
  await open()
  assert.ok(pids.includes(await agentAt('fill it')))
  assert.deepEqual(markers.all(), [], 'its marker stands in the row of the session')
  await open()
  const stream = await daemon.stream('/events')
  await stream.until(({ kind, subject }) => kind === 'run.ended' && subject === id)
  for (const title of ['dig a hole', 'fill it']) await add(title)
  const cold = await run({ settings: { PCC_EXECUTION_WARM: 'false' } })
  await until(async () => (simulator.requests.length > 4 ? true : undefined))
  await open()
  await until(async () => (simulator.requests.length > 6 ? true : undefined))
  await open()
  await stream.until(({ kind, subject }) => kind === 'run.ended' && subject === cold)
  stream.close()
  const kinds = async (run: string) => {
    const { attempts } = (await daemon.call<RunDetail>('GET', `/runs/${run}`)).body
    return (await log(attempts[1]?.session_id ?? '')).map(({ kind }) => kind)
  }
  assert.deepEqual(await kinds(id), await kinds(cold))
})

test('another model than the one that was prepared for is started cold, and the process that waited is gone', async t => {
  const { run, open, waiting, agentAt, simulator } = await digging(t, ['ask for more', 'fill it'])
  await run()
  await agentAt('ask for more')
  const { pids, marker } = await waiting()
  await open()
  const pid = await agentAt('fill it')
  assert.equal(pids.includes(pid), false)
  const left = (await findMarked(marker)).map(each => each.pid)
  assert.deepEqual(
    left.filter(each => pids.includes(each)),
    [],
  )
  assert.match(simulator.requests.at(-1)?.model ?? '', /opus/)
  await open()
})

test('a process that waited for another task than the one that comes is gone, and so is its worktree', async t => {
  const { run, open, waiting, agentAt, add, worktrees } = await digging(t, ['dig a hole'])
  await add('fill it')
  await run({ limit: 2 })
  await agentAt('dig a hole')
  const { pids, marker } = await waiting()
  const has = () => Object.values(worktrees()).map(names => names.includes('slot-2'))
  assert.deepEqual(has(), [true, true])
  await add('ask for more', { priority: 1 })
  await open()
  assert.equal(pids.includes(await agentAt('ask for more')), false)
  const left = (await findMarked(marker)).filter(({ pid }) => pids.includes(pid))
  assert.deepEqual([left, has()], [[], [false, false]])
  await open()
})

test('a daemon that stops, or is killed, leaves no process that waited', async t => {
  const stopped = await digging(t, ['dig a hole', 'fill it'])
  await stopped.run()
  const first = await stopped.waiting()
  await stopped.daemon.call('POST', '/daemon/stop')
  await stopped.daemon.ended
  assert.deepEqual([await findMarked(first.marker), stopped.markers.all()], [[], []])
  assert.equal(stopped.worktrees().there.length, 1, 'that of the task at work')
  const killed = await digging(t, ['dig a hole', 'fill it'])
  await killed.run()
  const second = await killed.waiting()
  killed.daemon.child.kill('SIGKILL')
  await killed.daemon.ended
  await until(async () => ((await findMarked(second.marker)).length === 0 ? true : undefined))
  const before = killed.worktrees()
  assert.deepEqual([before.known.length, before.there.length], [2, 2])
  await startDaemon(t, { home: killed.daemon.home, env: { PCC_SESSIONS_AUTO_RESUME: 'false' } })
  const after = killed.worktrees()
  assert.deepEqual([after.known.length, after.there.length], [1, 1], 'what was reserved is removed at the next start')
})

test('a daemon ends at its start what an earlier one had started for a session without a row', async t => {
  const home = tempDir(t)
  const { paths, child, ended } = await startDaemon(t, { home })
  child.kill('SIGKILL')
  await ended
  const marker = 'left-by-an-earlier-daemon'
  const { name, value } = sessionMarker(marker)
  const left = spawn('sleep', ['600'], { env: { ...bareEnv(home), [name]: value }, stdio: 'ignore' })
  const gone = once(left, 'exit')
  t.after(() => left.kill('SIGKILL'))
  const markers = new WarmMarkers(paths.run)
  markers.note(marker)
  await startDaemon(t, { home })
  await gone
  assert.deepEqual(markers.all(), [])
})
