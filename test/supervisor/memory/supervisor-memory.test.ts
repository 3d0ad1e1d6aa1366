import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { NewEvent } from '../../../src/domain/event.ts'
import { openStore } from '../../../src/store/open.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { armOf } from '../../../src/supervisor/memory/recall.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { gitProject, tempDir } from '../../support/world.ts'

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
