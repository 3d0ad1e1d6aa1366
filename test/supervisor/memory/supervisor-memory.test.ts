import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import { newRecord } from '../../../src/domain/memory.ts'
import { openMemory } from '../../../src/memory/broker.ts'
import { openStore } from '../../../src/store/open.ts'
import { openProjectMemory, type ProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { armOf } from '../../../src/supervisor/memory/recall.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { judgeRequest } from '../../../src/supervisor/session/judge.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { PERSON } from '../../memory/records.ts'
import { keepAttempt } from '../../store/an-attempt.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

/** A project in which `make check` fails and `sh check.sh` works, as a session has found out. */
async function world(t: TestContext, settings: Record<string, string> = {}) {
  const home = tempDir(t)
  const project = gitProject(t)
  const own = { HOME: home, PCC_HOME: join(home, 'pcc') }
  const paths = { ...appPathsFor({ env: own }), data: home }
  const store = await openStore({ file: join(home, 'db') })
  const env = { ...own, PCC_MEMORY_HOLDOUT_SHARE: '0', ...settings }
  const service = openSupervisorMemory({ paths, env, store, log: silentLog })
  t.after(async () => {
    await service[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })
  const tasks = openTasks({ store, clock: systemClock })
  const add = (title: string, of = project) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: of, text: title, title, after: [] }, tx))
  const ran = (command: string, output?: string): NewEvent => {
    const body = { call_id: command, tool: 'Bash', target: command, ok: output === undefined, output: output ?? '' }
    return { actor: 'agent', subject: 's-1', kind: 'tool.finished', body }
  }
  await store.sessions.insert({ id: 's-1', name: 's-1', project, task: 'x', agent: 'claude' })
  await store.append([ran('make check', 'make: *** No rule to make target'), ran('sh check.sh')])
  return { home, project, paths, env, store, service, add }
}

test('memory.enabled: what was learned a moment ago is in the brief, unless a person or the project switches memory off', async t => {
  const { project, service, add } = await world(t)
  const task = await add('Check the cart')
  const [section] = await service.forTask(task, {})
  assert.equal(section?.title, 'What was learned here before')
  assert.match(section?.pieces[0]?.verbatim ?? '', /^- .*`make check` fails here.*sh check\.sh.* \(.*2\d{3}-/m)
  assert.deepEqual(await service.forTask(await add('Paint it blue'), {}), [], 'silent where nothing fits')
  assert.match((await service.recall(project, 'How do I check this?')) ?? '', /sh check\.sh/)
  const off = await world(t, { PCC_MEMORY_ENABLED: 'false' })
  assert.deepEqual(await off.service.forTask(await off.add('Check the cart'), {}), [])
  const tight = await world(t)
  writeFileSync(join(tight.project, '.perpetualcc.toml'), '[memory]\nenabled = false\n')
  assert.deepEqual(await tight.service.forTask(await tight.add('Check the cart'), {}), [])
})

test('memory.holdout_share: a task stays in its arm, and what it was shown or not is recorded once for each attempt', async t => {
  const arms = Array.from({ length: 1_000 }, (_, at) => armOf(`t-${at}`, 0.25))
  const without = arms.filter(arm => arm === 'without').length
  assert.ok(without > 200 && without < 300, `${without} of 1,000`)
  assert.deepEqual(
    Array.from({ length: 1_000 }, (_, at) => armOf(`t-${at}`, 0.25)),
    arms,
  )
  const { paths, service, add } = await world(t, { PCC_MEMORY_HOLDOUT_SHARE: '1' })
  const task = await add('Check the cart')
  assert.deepEqual(await service.forTask(task, { isBegun: true }), [])
  await service.forTask(task, { isBegun: true })
  using memory = openProjectMemory(paths)
  const held = memory.recallOf(task.id, 1)
  assert.deepEqual([held?.arm, held?.items.length, held?.evidence], ['without', 2, [`attempt:${task.id}/1`]])
  assert.equal(memory.recallOf(task.id, 2), undefined)
})

test('a project that is moved keeps what was learned in it', async t => {
  const { project, service, add } = await world(t)
  await service.measure({ since: 0, until: 1 })
  const moved = join(tempDir(t), 'moved')
  renameSync(project, moved)
  const [section] = await service.forTask(await add('Check the cart', moved), {})
  assert.match(section?.pieces[0]?.verbatim ?? '', /sh check\.sh/)
})

test('memory that cannot be opened shows nothing and stops nobody', async t => {
  const { paths, service, add } = await world(t)
  writeFileSync(paths.home, 'a file where the folder should be')
  assert.deepEqual(await service.forTask(await add('Check the cart'), { isBegun: true }), [])
})

test('a call that people allowed again and again is a precedent; a HIGH one never is, and neither is one call of a tool', async t => {
  const { project, paths, store, service } = await world(t)
  using memory = openProjectMemory(paths)
  const of = await folderKey(memory, project)
  const answer = (text: string, time: number) =>
    newRecord({
      ...{ kind: 'procedure', time, scope: 'project', of, actor: 'person', authority: 'person', outcome: 'success' },
      ...{ event_type: 'permission', trigger: { kind: 'request', text }, action: 'allow' },
    })
  const requests = ['Bash git commit -m "one"', 'Bash rm -rf build', 'mcp__db__query']
  const days = Array.from({ length: 8 }, (_, day) => Date.now() - day * 60_000)
  memory.write(requests.flatMap(text => days.map(time => answer(text, time))))
  const advise = (normalised: string, risk: 'MEDIUM' | 'HIGH', tool = 'Bash') =>
    service.advise(project, tool, { risk, normalised, reasons: [], pieces: [] })
  const advice = await advise('Bash git commit -m "two"', 'MEDIUM')
  assert.deepEqual(
    [advice?.approve, advice?.reason],
    [true, 'people allowed such requests 8 times and refused them 0 times'],
  )
  assert.equal(await advise('Bash git push origin', 'MEDIUM'), undefined)
  assert.equal(await advise('Bash rm -rf build', 'HIGH'), undefined)
  assert.equal(await advise('mcp__db__query', 'MEDIUM', 'mcp__db__query'), undefined)

  const deps = sessionDepsOn(store, { memory: service })
  const policy = { ...aLiveSession().settings.policy, threshold: 0.8, autoApproveLow: true, project }
  const judge = async (command: string, risk: 'MEDIUM' | 'HIGH') => {
    const classify = async () => ({ risk, normalised: `Bash ${command}`, reasons: [], pieces: [] })
    const request = { callId: 'c', tool: 'Bash', input: { command }, cwd: project }
    const context = {
      live: aLiveSession({ project }, { policy }),
      deps: { ...deps, policy: { ...deps.policy, classify } },
    }
    const { verdict, by } = (await judgeRequest(request, AbortSignal.timeout(5_000), context)).decision
    return [verdict, by]
  }
  assert.deepEqual(await judge('git commit -m "three"', 'MEDIUM'), ['allow', 'precedent'])
  assert.deepEqual(await judge('rm -rf build', 'HIGH'), ['deny', 'policy'])
})

test('a fork of a project shares what was learned in it, and not what people allowed there', async t => {
  const { project, paths, service } = await world(t)
  using memory = openProjectMemory(paths)
  const fork = join(tempDir(t, 'pcc-fork-'), 'fork')
  execFileSync('git', ['clone', '-q', project, fork], { env: bareEnv(project) })
  assert.equal((await memory.keysOf(fork))[0], (await memory.keysOf(project))[0])
  const allowed = (of: string) =>
    Array.from({ length: 8 }, (_, n) =>
      newRecord({
        ...{ kind: 'procedure', time: Date.now() - n, scope: 'project', of, actor: 'person', authority: 'person' },
        ...{ event_type: 'permission', trigger: { kind: 'request', text: 'Bash make' }, action: 'allow' },
        outcome: 'success',
      }),
    )
  const assessment = { risk: 'MEDIUM' as const, normalised: 'Bash make', reasons: [], pieces: [] }
  memory.write(allowed((await memory.keysOf(project))[0]))
  assert.equal(await service.advise(project, 'Bash', assessment), undefined, 'what all clones share allows nothing')
  memory.write(allowed(await folderKey(memory, project)))
  assert.equal((await service.advise(project, 'Bash', assessment))?.approve, true)
  assert.equal(await service.advise(fork, 'Bash', assessment), undefined)
})

test('memory.learning: three answers are enough for beta, and four for the rule of the first design', async t => {
  const advised = async (learning: string, answers: number, outcome: 'success' | 'failure' = 'success') => {
    const { project, paths, service } = await world(t, { PCC_MEMORY_LEARNING: learning })
    using memory = openProjectMemory(paths)
    const of = await folderKey(memory, project)
    memory.write(
      Array.from({ length: answers }, (_, n) =>
        newRecord({
          ...{ kind: 'procedure', time: Date.now() - n, scope: 'project', of, actor: 'person', authority: 'person' },
          ...{ event_type: 'permission', trigger: { kind: 'request', text: 'Bash make' }, action: 'allow', outcome },
        }),
      ),
    )
    const assessment = { risk: 'MEDIUM' as const, normalised: 'Bash make', reasons: [], pieces: [] }
    return (await service.advise(project, 'Bash', assessment))?.approve
  }
  assert.equal(await advised('beta', 3), true)
  assert.equal(await advised('beta', 3, 'failure'), false, 'what people refuse is refused')
  assert.equal(await advised('seed', 3), undefined)
  assert.equal(await advised('seed', 4), true)
})

test('an episode says whether anything similar was known', async t => {
  const { project, paths } = await world(t)
  using memory = openProjectMemory(paths)
  const [of] = await memory.keysOf(project)
  const episode = (context: string) =>
    newRecord({
      ...{
        kind: 'episode',
        time: Date.now(),
        scope: 'project',
        of,
        actor: 'daemon',
        authority: 'gate',
        session: 's-1',
      },
      ...{
        event_type: 'command',
        tool: 'Bash',
        inputs_hash: '',
        context,
        decision: '',
        action: '',
        fix: null,
        rationale: '',
      },
    })
  const records = ['The port 8080 is taken by the old server', 'The old server has taken the port 8080'].map(episode)
  for (const record of records) memory.write([record])
  using broker = openMemory(paths)
  const novel = records.map(({ id }) => broker.record(id, PERSON))
  assert.deepEqual(
    novel.map(record => record?.kind === 'episode' && record.is_novel),
    [true, false],
  )
})

test('a hundred tasks show what recall is worth, with the interval, and every phase ran for every session', async t => {
  const { project, store, service, add } = await world(t, { PCC_MEMORY_HOLDOUT_SHARE: '0.5' })
  // What an agent saw once is shown where it fits; what a gate has passed is shown to every task.
  const passed = { task_id: 't-0', title: 'x', from: 'verifying', attempt: 1, verification: 'passed' } as const
  await store.append([{ actor: 'daemon', subject: 's-1', kind: 'task.finished', body: passed }])
  const began = await service.measure({ since: 0, until: Date.now() + 1 })
  assert.match(began?.worth.join('\n') ?? '', /not enough data/)
  for (let at = 0; at < 100; at += 1) {
    const task = await add(`Change part ${at} of the cart`)
    const isShown = (await service.forTask(task, { isBegun: true })).length > 0
    // A task that is told what works needs fewer calls and no second attempt.
    const attempt = isShown || at % 2 === 0 ? 1 : 2
    if (attempt === 2) await service.forTask({ ...task, attempt: 1, started_at: 1 }, { isBegun: true })
    const session = `s-task-${at}`
    await store.sessions.insert({
      ...{ id: session, name: session, project, task: 'x', task_id: task.id, agent: 'claude', options: RUN_OPTIONS },
      ...{ state: 'ended', ended_as: 'completed', ended_at: Date.now() },
    })
    const say = (kind: NewEvent['kind'], body: object) =>
      ({ actor: 'daemon', subject: session, kind, body }) as NewEvent
    const moved = { task_id: task.id, title: task.title, from: 'running', attempt }
    const call = { tool: 'Bash', target: 'x', verdict: 'allow', risk: 'LOW', reason: '', confidence: 1, by: 'policy' }
    const calls = Array.from({ length: isShown ? 3 : 5 + (at % 3) }, (_, nth) =>
      say('permission.decided', { ...call, call_id: `c-${nth}`, latency_ms: 1 }),
    )
    const end = !isShown && at % 3 === 0 ? say('task.failed', moved) : say('task.finished', moved)
    await keepAttempt(store, { task: task.id, number: attempt, session, outcome: null })
    // The events of a task of a run are about the task.
    await store.append([say('task.started', moved), ...calls, end].map(event => aboutTask(event, task.id)))
  }
  const measured = await service.measure({ since: 0, until: Date.now() + 1 })
  const worth = measured?.worth.join('\n') ?? ''
  assert.match(worth, /Lift \(\d+ tasks with recall, \d+ without; 95 % intervals\)/)
  assert.match(worth, /success +\+\d+ points \(\+\d+ points to \+\d+ points\): better/)
  assert.match(worth, /retries +−0\.\d+ \(−0\.\d+ to −0\.\d+\): better/)
  assert.match(worth, /tool calls +−\d\.\d \(−\d\.\d to −\d\.\d\): better/)
  assert.deepEqual(
    [measured?.sessions, measured?.recorded, measured?.completeness, (measured?.shown ?? 0) > 30],
    [100, 100, 1, true],
  )
})

function aboutTask(event: NewEvent, subject: string): NewEvent {
  return event.kind.startsWith('task.') ? { ...event, subject } : event
}

const RUN_OPTIONS = { run: { id: 'r-1', iteration: 1 } } as never

test('data.episode_retention_days: an old episode is gone after the upkeep', async t => {
  const known = async (days: string) => {
    const { project, paths, service } = await world(t, { PCC_DATA_EPISODE_RETENTION_DAYS: days })
    using memory = openProjectMemory(paths)
    const [of] = await memory.keysOf(project)
    memory.write([
      newRecord({
        ...{ kind: 'episode', time: Date.now() - 100 * 86_400_000, scope: 'project', of, actor: 'daemon' },
        ...{ authority: 'gate', event_type: 'command', tool: null, inputs_hash: '', context: 'a zebra crossing' },
        ...{ decision: '', action: 'look left', fix: null, rationale: '' },
      }),
    ])
    await service.measure({ since: 0, until: 1 })
    return (await service.recall(project, 'zebra crossing'))?.includes('look left')
  }
  assert.deepEqual([await known('90'), await known('200')], [undefined, true])
})

/** The key of the folder itself, which no clone shares. */
async function folderKey(memory: ProjectMemory, project: string): Promise<string> {
  return (await memory.keysOf(project)).at(-1) ?? ''
}

test('memory that is closed while it learns ends that first', async t => {
  const { project, paths, env, store } = await world(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const warned: unknown[] = []
  const log = { ...silentLog, warn: (...args: unknown[]) => void warned.push(args) } as typeof silentLog
  const service = openSupervisorMemory({ paths, env, store, log })
  await service.recall(project, 'anything')
  service.poke()
  t.mock.timers.runAll()
  await service[Symbol.asyncDispose]()
  await setImmediate()
  assert.deepEqual(warned, [])
})
