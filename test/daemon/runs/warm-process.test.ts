import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import type { RunDetail } from '../../../src/domain/run.ts'
import { WarmMarkers } from '../../../src/supervisor/session/warm-processes.ts'
import { gateIn } from '../../support/gate.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { agentSessions } from '../agent-sessions.ts'
import { startDaemon } from '../daemon-process.ts'

// With the real agent: the process for the next task of a run, from its start to its end.

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
  // A sandbox is made around a folder: in a worktree no process waits for it.
  const world = await agentSessions(t, SCENARIO, { env: { PCC_AGENTS_SANDBOX: 'off' } })
  const { daemon, project, env } = world
  const gate = gateIn(t, project)
  const markers = new WarmMarkers(daemon.paths.run)
  const add = (title: string) => daemon.call('POST', '/tasks', { body: { project, title } })
  for (const title of tasks) await add(title)
  return {
    ...world,
    markers,
    add,
    async run(more: object = {}) {
      const body = { project, target: { kind: 'project' }, env, ...more }
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
  const cold = await run({ settings: { PCC_EXECUTION_WARM: 'false', PCC_AGENTS_SANDBOX: 'off' } })
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

test('a daemon that stops, or is killed, leaves no process that waited', async t => {
  const stopped = await digging(t, ['dig a hole', 'fill it'])
  await stopped.run()
  const first = await stopped.waiting()
  await stopped.daemon.call('POST', '/daemon/stop')
  await stopped.daemon.ended
  assert.deepEqual([await findMarked(first.marker), stopped.markers.all()], [[], []])
  const killed = await digging(t, ['dig a hole', 'fill it'])
  await killed.run()
  const second = await killed.waiting()
  killed.daemon.child.kill('SIGKILL')
  await killed.daemon.ended
  await until(async () => ((await findMarked(second.marker)).length === 0 ? true : undefined))
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
