import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { CreateFeature } from '../../../src/domain/feature.ts'
import { openStore } from '../../../src/store/open.ts'
import { FeatureManager } from '../../../src/supervisor/features/features.ts'
import { KeptEnvironments } from '../../../src/supervisor/session/kept-environments.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'

/** Features whose sessions are only rows: `ends` gives an agent's result. */
async function aShop(t: TestContext) {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const project = tempDir(t)
  const tasks = openTasks({ store, clock: systemClock })
  const begun: { prompt: string }[] = []
  const agents: (string | undefined)[] = []
  const taken: string[] = []
  const features = new FeatureManager({
    ...{ store, tasks, clock: systemClock, log: silentLog },
    ...{ kept: new KeptEnvironments(tempDir(t)), agentEnv: {} },
    keepsEnvironment: async () => false,
    async start(request, { feature, take }) {
      const id = `s-00000${begun.push({ prompt: request.task ?? '' })}`
      agents.push(request.agent)
      await turn() // a real start reads settings and opens a driver first
      const row = await store.sessions.insert({ id, name: id, project, task: 't', agent: 'none' })
      await store.sessions.update(id, { options: { ...row.options, ...(feature && { feature }) } })
      await store.transaction(async tx => {
        const task = await take(row, tx)
        await tx.db.updateTable('sessions').set({ task_id: task.id }).where('id', '=', id).execute()
      })
      taken.push(id)
      return row
    },
    resume: async row => row,
    stop: async () => undefined,
  })
  const create = (more: Partial<CreateFeature> = {}) =>
    features.create({ project, name: 'paint', ai: true, until: 'tasks', env: {}, ...more })
  const ends = async (session: string | null, said: string) => {
    await store.transaction(({ db }) =>
      db.updateTable('tasks').set({ state: 'done', result: said }).where('session_id', '=', session).execute(),
    )
    await store.sessions.update(session ?? '', { state: 'ended', ended_as: 'completed' })
  }
  const now = async () => {
    const row = await store.features.named(project, 'paint')
    assert.ok(row)
    await features.look(row.id)
    return (await store.features.get(row.id)) ?? row
  }
  const file = (kind: string) => join(project, '.perpetualcc', 'features', 'paint', `${kind}.md`)
  const write = (kind: string, text: string) => {
    mkdirSync(dirname(file(kind)), { recursive: true })
    writeFileSync(file(kind), text)
  }
  return { store, project, tasks, features, begun, agents, taken, create, ends, now, file, write }
}

test('each phase of a feature is begun with the agent that was named for it', async t => {
  const { create, agents, ends, now } = await aShop(t)
  const { session_id } = await create({ from: 'blue walls', agent: 'codex' })
  await ends(session_id, '# Spec\n\nBlue walls.')
  await now()
  assert.deepEqual(agents, ['codex', 'codex'])
})

test('the same --from again goes on; another file, or one after an interview began, is refused for what is so', async t => {
  const { create, begun, ends, now } = await aShop(t)
  const first = await create({ from: 'blue walls', until: 'spec' })
  await ends(first.session_id, 'Sorry.')
  const asked = await now()
  assert.deepEqual([asked.phase, asked.problem, begun.length], ['spec', null, 2], 'another agent is asked')
  assert.match(begun[1]?.prompt ?? '', /blue walls[\s\S]*Another agent has ended this without the document/)
  await ends(asked.session_id, 'I do not know.')
  const halted = await now()
  assert.match(
    halted.problem ?? '',
    /ended without a spec: no text between <spec> and <\/spec>; it said: I do not know\.\n.*write it yourself: .*spec\.md$/,
  )
  await assert.rejects(create({ from: 'red walls' }), /"paint" has begun without it, so --from would be ignored/)
  const again = await create({ from: 'blue walls' })
  assert.equal(begun.length, 3)
  assert.equal(again.problem, null)
  await ends(again.session_id, '<spec>\n# Paint\nBlue.\n</spec>')
  await now()
  await assert.rejects(create({ from: 'red walls' }), /has a spec already \(.*spec\.md\)/)
})

test('two who make a feature go on in the same moment begin one session', async t => {
  const { create, store, project, features, taken } = await aShop(t)
  const { id } = await create({ from: 'blue walls' })
  await store.features.update(id, { session_id: null })
  const row = await store.features.named(project, 'paint')
  assert.ok(row)
  const both = await Promise.all([1, 2].map(() => features.goOn(row, { until: 'tasks', env: {} })))
  assert.ok(both[0]?.session_id)
  assert.equal(both[0].session_id, both[1]?.session_id)
  assert.equal(taken.length, 2, 'the first one, and one more')
})

test('nothing is begun that lies behind the phase where a person wants to stop', async t => {
  const { create, begun, write } = await aShop(t)
  write('spec', '# Mine\n')
  const row = await create({ until: 'spec' })
  assert.deepEqual([row.phase, row.session_id], ['plan', null])
  assert.equal((await create({ until: 'spec' })).session_id, null)
  assert.equal(begun.length, 0)
  await create({ until: 'plan' })
  assert.match(begun[0]?.prompt ?? '', /# Mine/)
})

test('a file that a person wrote after a halt is not asked of an agent again, and never written over', async t => {
  const { create, begun, ends, now, file, write } = await aShop(t)
  await ends((await create({ from: 'blue walls' })).session_id, 'Sorry.')
  await ends((await now()).session_id, '<spec>\n# Paint\n</spec>')
  assert.match((await now()).problem ?? '', /ended without a spec/)
  write('spec', '# Mine\n')
  const planning = await create()
  assert.deepEqual([planning.phase, planning.problem, begun.length], ['plan', null, 3])
  write('plan', '- [ ] Mine too\n')
  await ends(planning.session_id, '<plan>\n# Theirs\nA brush.\n</plan>')
  assert.equal((await now()).phase, 'tasks')
  assert.deepEqual(
    [readFileSync(file('spec'), 'utf8'), readFileSync(file('plan'), 'utf8')],
    ['# Mine\n', '- [ ] Mine too\n'],
  )
})

test('an empty file is no spec: it is named, and what the agent wrote is taken when it is gone', async t => {
  const { create, ends, now, file, write, store } = await aShop(t)
  const row = await create({ from: 'blue walls', until: 'spec' })
  write('spec', '\n')
  await ends(row.session_id, '<spec>\n# Paint\nBlue.\n</spec>')
  assert.match((await now()).problem ?? '', /spec\.md cannot be used: it is empty; write it, or remove it/)
  await now()
  assert.equal((await store.events({ subject: row.id, kinds: ['feature.moved'] })).length, 2, 'looking writes nothing')
  rmSync(file('spec'))
  const { phase, problem } = await now()
  assert.deepEqual([phase, problem, existsSync(file('spec'))], ['plan', null, true])
})

test('tasks become real together with the feature being ready, or not at all', async t => {
  const { create, ends, now, write, store, project } = await aShop(t)
  write('plan', 'A plan without a check-list.\n')
  const row = await create()
  const draft = ['Buy paint', 'Paint'].map((title, index) => ({
    id: `t-00000${index}`,
    title,
    after: index ? ['t-999999'] : [],
  }))
  await store.features.update(row.id, { draft })
  await ends(row.session_id, 'There are 2.')
  const halted = await now()
  assert.equal(halted.phase, 'tasks')
  assert.ok(halted.problem)
  assert.deepEqual(await store.tasks.list({ project, feature: 'paint' }), [], 'one cannot be, so none is')
  await store.features.update(row.id, { draft: draft.map(({ id, title }) => ({ id, title })) })
  assert.equal((await now()).phase, 'ready')
  assert.equal((await store.tasks.list({ project, feature: 'paint' })).length, 2)
})

test('a feature is deleted with its tasks, but not with those of another that come after them', async t => {
  const { create, store, project, tasks, features, write } = await aShop(t)
  write('plan', '- [ ] Buy paint\n')
  const row = await create({ ai: false })
  const [own] = await store.tasks.list({ project, feature: 'paint' })
  const submit = (title: string, more: object) =>
    store.transaction(tx => tasks.submit({ session_id: null, project, title, text: '', ...more }, tx))
  await submit('A part', { parent: own?.id })
  const other = await submit('Move in', { after: [own?.id ?? ''] })
  const all = { files: false, tasks: true }
  await assert.rejects(features.remove(row, all), new RegExp(`depend on task t-\\w+: ${other.id} \\(Move in\\)`))
  assert.equal((await store.tasks.list({ project })).length, 3, 'nothing was removed')
  await store.transaction(tx => tasks.remove(other, { cascade: false }, tx))
  await features.remove(row, all)
  assert.deepEqual(await store.tasks.list({ project }), [])
  const [deleted] = await store.events({ subject: row.id, tail: 1 })
  assert.deepEqual(
    [deleted?.kind, deleted?.actor, deleted?.body],
    ['feature.deleted', 'human', { project, name: 'paint' }],
  )
})
