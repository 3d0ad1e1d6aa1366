import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ImportedTask } from '../../../src/domain/task-requests.ts'
import { tempDir } from '../../support/world.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'

const ONE = {
  tasks: [{ id: 'a', title: 'Build it', acceptance: ['npm test passes'] }],
  remarks: 'I took npm for granted.',
}

/** An agent that gives these replies, one after the other, when it is asked for tasks. */
async function asking(t: TestContext, ...turns: Turn[]) {
  const agent: ScriptedAgent = scriptedAgent(() => turns.shift() ?? {})
  const world = await scriptedWorld(t, agent)
  const project = tempDir(t, 'pcc-project-')
  const propose = (more: object = {}) =>
    world.call('POST', '/tasks/propose', { project, text: 'Build a thing', env: {}, ...more })
  const tasks = async () => (await world.call('GET', `/tasks?project=${encodeURIComponent(project)}`)).body.tasks
  return { ...world, agent, project, propose, tasks }
}

const says = (value: unknown): Turn => ({ says: () => (typeof value === 'string' ? value : JSON.stringify(value)) })

test('what an agent proposes is shown and not stored; as it is, it can be imported', async t => {
  const tasks = [
    { id: 'schema', title: 'Design the schema', acceptance: ['it is written down'], priority: 3 },
    { id: 'api', title: 'Build the API', description: 'With care.\n\nIn src.', after: ['schema'] },
  ]
  const { propose, call, project, tasks: stored, agent } = await asking(t, says({ tasks, remarks: 'SQLite.' }))
  const { status, body } = await propose({ feature: 'notes' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.remarks, 'SQLite.')
  assert.equal(body.model, 'm')
  assert.deepEqual(body.tasks[1], { ...tasks[1], feature: 'notes' })
  assert.deepEqual(await stored(), [])
  assert.equal(agent.open(), 0)
  const imported = await call('POST', '/tasks/import', { project, tasks: body.tasks })
  assert.equal(imported.status, 200, JSON.stringify(imported.body))
  const [schema, api] = await stored()
  assert.deepEqual(
    [schema.priority, schema.acceptance, api.after, api.state],
    [3, ['it is written down'], [schema.id], 'blocked'],
  )
})

test('an answer that cannot be used is told to the agent once, with what is wrong', async t => {
  const circle = {
    tasks: [
      { id: 'a', title: 'A', after: ['b'] },
      { id: 'b', title: 'B', after: ['a'] },
    ],
  }
  for (const [wrong, told] of [
    ['I would build it.', /there is no JSON object in it/],
    [{ tasks: [] }, /Too small/],
    [{ tasks: [{ title: 'x', state: 'done' }] }, /Unrecognized key: "state"/],
    [{ tasks: Array.from({ length: 51 }, () => ({ title: 'x' })) }, /Too big/],
    [{ tasks: [{ id: 'a', title: 'A', after: ['nobody'] }] }, /no task has the id or title \\?"nobody/],
    [
      {
        tasks: [
          { id: 'a', title: 'A' },
          { id: 'a', title: 'B' },
        ],
      },
      /the id of another task already/,
    ],
    [circle, /tasks wait for one another: (a → b → a|b → a → b)/],
  ] as const) {
    const { propose, agent } = await asking(
      t,
      says(wrong),
      says(`Mended:\n\`\`\`json\n${JSON.stringify(ONE)}\n\`\`\`\n`),
    )
    const { status, body } = await propose()
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      body.tasks.map(({ title }: ImportedTask) => title),
      ['Build it'],
    )
    assert.equal(agent.prompts.length, 2)
    assert.match(agent.prompts[1] ?? '', told)
  }
})

test('an agent that is wrong twice is not asked a third time', async t => {
  const { propose, agent, tasks } = await asking(t, says('No.'), says('No!'), says(ONE))
  const { status, body } = await propose()
  assert.deepEqual([status, body.error.code], [502, 'reply_unusable'])
  assert.equal(agent.prompts.length, 2)
  assert.deepEqual([agent.open(), await tasks()], [0, []])
})

test('tasks are placed where the person wants them: parts of one, after others, those that come first', async t => {
  const pair = {
    tasks: [
      { id: 'a', title: 'First' },
      { id: 'b', title: 'Second', after: ['a'] },
    ],
  }
  const { propose, call, project } = await asking(t, says(pair))
  const add = async (title: string) => (await call('POST', '/tasks', { project, title })).body.task.id as string
  const [whole, before] = [await add('The whole'), await add('Before all')]
  const { body } = await propose({ parent: whole.slice(2, 7), after: [before] })
  assert.deepEqual(body.tasks, [
    { id: 'a', title: 'First', parent: whole, after: [before] },
    { id: 'b', title: 'Second', parent: whole, after: ['a'] },
  ])
})

test('what the person got wrong is said before an agent is asked', async t => {
  const { propose, agent } = await asking(t, says(ONE))
  for (const [more, code] of [
    [{ parent: 'nobody' }, 'task_not_there'],
    [{ after: ['t-ffffff'] }, 'task_not_there'],
    [{ text: ' ' }, 'bad_request'],
    [{ feature: 'two words' }, 'bad_request'],
    [{ project: '/no/such/place' }, 'project_missing'],
  ] as const) {
    assert.equal((await propose(more)).body.error.code, code)
  }
  assert.equal(agent.calls(), 0)
})

test('the agent is told what is wanted and what is there already', async t => {
  const { propose, call, project, agent } = await asking(t, says(ONE))
  const { id } = (await call('POST', '/tasks', { project, title: 'An older one' })).body.task
  await propose({ text: 'Make it ``` loud' })
  assert.match(agent.prompts[0] ?? '', /\n````\nMake it ``` loud\n````\n/)
  assert.match(agent.prompts[0] ?? '', new RegExp(`\n${id} \\(ready\\) An older one\n`))
})

test('a limit of the account is told with its end, shuts the gate, and nobody is asked behind it', async t => {
  const resetsAt = Date.now() + 3_600_000
  const limit = { source: 'result', message: 'hit', resetsAt } as const
  const { propose, agent } = await asking(t, { failure: { kind: 'limit', message: 'hit', limit } })
  const first = await propose()
  assert.deepEqual([first.status, first.body.error.code], [429, 'account_limited'])
  const calls = agent.calls()
  const second = await propose()
  assert.equal(second.body.error.code, 'account_limited')
  assert.match(second.body.error.message, /now until 20\d\d-/)
  assert.equal(agent.calls(), calls)
})

test('an agent that is missing, not logged in or broken is told as such', async t => {
  for (const [kind, code] of [
    ['auth', 'agent_not_logged_in'],
    ['agent_missing', 'agent_missing'],
    ['server', 'agent_failed'],
  ] as const) {
    const { propose } = await asking(t, { failure: { kind, message: 'it said no.' } })
    const { error } = (await propose()).body
    assert.equal(error.code, code)
    assert.doesNotMatch(error.message, /\.\.|stored/)
  }
})

test('what it costs is booked on the project, and where nothing is left nobody is asked', async t => {
  const usage = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.5 }
  const { propose, store, project, settings, agent } = await asking(
    t,
    { ...says(ONE), tells: [{ kind: 'usage', ...usage }] },
    says(ONE),
  )
  assert.equal((await propose()).body.cost_usd, 0.5)
  const [spent] = await store.spending.of([{ scope: 'project', key: project }])
  assert.deepEqual([spent?.cost_usd, spent?.tokens, spent?.turns], [0.5, 1000, 1])
  settings['PCC_BUDGETS_PROJECT_COST_USD'] = '0.4'
  assert.equal((await propose()).body.error.code, 'budget_spent')
  assert.equal(agent.prompts.length, 1)
})

test('when the one who asked has left, the agent is ended and nothing is stored', async t => {
  const { supervisor, agent, project, tasks } = await asking(t, says(ONE))
  const left = new AbortController()
  const held = agent.holdAt('tool')
  const asked = supervisor.proposals.tasks({ project, text: 'Build a thing', env: {} }, left.signal)
  const goOn = await held
  assert.equal(agent.open(), 1)
  left.abort(new Error('they left'))
  await assert.rejects(asked, /they left/)
  goOn()
  assert.deepEqual([agent.open(), await tasks()], [0, []])
})
