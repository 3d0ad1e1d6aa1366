import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import { newRecord } from '../../../src/domain/memory.ts'
import { openMemory } from '../../../src/memory/broker.ts'
import { openStore } from '../../../src/store/open.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { armOf } from '../../../src/supervisor/memory/recall.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { judgeRequest } from '../../../src/supervisor/session/judge.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { PERSON } from '../../memory/records.ts'
import { gitProject, tempDir } from '../../support/world.ts'
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
  return { home, project, paths, store, service, add }
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
  await service.settle()
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
  const [of] = await memory.keysOf(project)
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

test('memory.learning: three answers are enough for beta, and four for the rule of the first design', async t => {
  const advised = async (learning: string, answers: number, outcome: 'success' | 'failure' = 'success') => {
    const { project, paths, service } = await world(t, { PCC_MEMORY_LEARNING: learning })
    using memory = openProjectMemory(paths)
    const [of] = await memory.keysOf(project)
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
