import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import type { Request } from '../../../src/domain/session.ts'
import type { Decision } from '../../../src/policy/verdict/decide.ts'
import { boundTo } from '../../../src/supervisor/session/allow-once.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { scriptedAgent, type Turn } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const PUSH = 'git push --force'
const FAILED = () => 'I may not push.\n\n<promise>FAILURE: the push was refused</promise>'

/** An agent that pushes with a new call each time, and gives up when it was refused. */
function pusher(turns: (prompt: string, call: number) => Turn = () => ({})) {
  let call = 0
  return scriptedAgent(prompt => {
    call += 1
    return { wants: PUSH, wantsAs: `b-${call}`, says: FAILED, ...turns(prompt, call) }
  })
}

async function refused(world: ScriptedWorld): Promise<string> {
  const id = await world.start('push it')
  await world.when(id, ({ status }) => status === 'paused')
  return id
}

const verdicts = async (world: ScriptedWorld, id: string) =>
  bodiesOf(await world.events(id), 'permission.decided')
    .filter(({ tool }) => tool === 'Bash')
    .map(({ verdict, by }) => `${verdict} by ${by}`)

const answer = (world: ScriptedWorld, body: object, number = 1) =>
  world.call('POST', `/escalations/${number}/answer`, { env: {}, ...body })

test('a task that fails because of a refusal waits for a person, and a yes does exactly that once', async t => {
  const agent = pusher((_prompt, call) => (call === 2 ? { says: () => 'Pushed.' } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await refused(world)
  const session = await world.store.sessions.get(id)
  const task = await world.store.tasks.get(session?.task_id ?? '')
  assert.deepEqual([task?.state, task?.retries, task?.attempt], ['waiting', 0, 1])
  assert.match(task?.reason ?? '', /waits for your yes to Bash git push --force: pcc respond 1 --approve --again/)
  const { body: before } = await world.call('GET', '/needs')
  assert.deepEqual(
    before.needs.map(({ kind, next }: { kind: string; next: string }) => [kind, next]),
    [['refused', 'pcc respond 1 --approve --again']],
  )
  assert.deepEqual([before.refused, before.escalations.length, before.escalations[0].again], [[], 1, true])

  const account = (await world.store.sessions.get(id))?.account
  const { body } = await answer(world, { verdict: 'allow', again: true, env: { ANTHROPIC_API_KEY: 'sk-ant-another' } })
  assert.deepEqual([body.task, body.escalation.verdict], ['goes_on', 'allow'])
  await world.when(id, ({ status }) => status === 'completed')
  assert.equal((await world.store.sessions.get(id))?.account, account, 'it keeps its login, whoever says yes')
  assert.match(agent.prompts[1] ?? '', /has now allowed, once, exactly the request that was refused \(Bash git push/)
  assert.deepEqual(await verdicts(world, id), ['deny by policy', 'allow by human'])
  assert.deepEqual(
    bodiesOf(await world.events(id), 'allowance.used').map(({ number, task: of, attempt }) => [number, of, attempt]),
    [[1, task?.id, 1]],
  )
  assert.deepEqual((await world.call('GET', '/needs')).body, { needs: [], refused: [], escalations: [] })
})

test('what was refused in a session that ended all the same is listed, and a yes has its task done again', async t => {
  const says = (call: number) => (call === 1 ? 'I stopped: nobody is there to approve this.' : 'Pushed.')
  const agent = pusher((_prompt, call) => ({ says: () => says(call) }))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('push it')
  await world.ended(id, 1)
  const { body } = await world.call('GET', '/needs')
  assert.deepEqual([body.needs.length, body.refused[0]?.next], [0, 'pcc respond 1 --approve --again'])
  const { body: said } = await answer(world, { verdict: 'allow', again: true })
  assert.equal(said.task, 'goes_on')
  await world.ended(id, 2)
  assert.match(agent.prompts[1] ?? '', /has now allowed, once, exactly the request that was refused \(Bash git push/)
  assert.deepEqual(await verdicts(world, id), ['deny by policy', 'allow by human'])
  const session = await world.store.sessions.get(id)
  assert.equal((await world.store.tasks.get(session?.task_id ?? ''))?.state, 'done')
  assert.deepEqual((await world.call('GET', '/needs')).body.refused, [])
})

test('a request that was asked at a terminal until everybody left waits for a yes like one of a night', async t => {
  const agent = pusher((_prompt, call) => (call === 2 ? { says: () => 'Pushed.' } : {}))
  const world = await scriptedWorld(t, agent)
  const held = agent.holdAt('tool')
  const id = await world.start('push it')
  const goOn = await held
  const leave = world.terminals.attach(id)
  goOn()
  await world.when(id, ({ asks }) => asks[0]?.number !== undefined)
  leave()
  await world.ended(id, 1)
  assert.equal((await world.view(id)).status, 'paused')
  const { body } = await world.call('GET', '/needs')
  assert.deepEqual(
    body.needs.map(({ kind, next }: { kind: string; next: string }) => [kind, next]),
    [['refused', 'pcc respond 1 --approve --again']],
  )
  await answer(world, { verdict: 'allow', again: true })
  await world.when(id, ({ status }) => status === 'completed')
  assert.deepEqual(await verdicts(world, id), ['deny by nobody', 'allow by human'])
})

test('the yes is used up by one call: the same request is refused again and waits anew', async t => {
  const world = await scriptedWorld(t, pusher())
  const id = await refused(world)
  await answer(world, { verdict: 'allow', again: true })
  await world.ended(id, 2)
  assert.deepEqual(await verdicts(world, id), ['deny by policy', 'allow by human'])
  assert.equal((await world.view(id)).status, 'error', 'nothing is refused any more, so its failure is its own')
  const again = await answer(world, { verdict: 'allow', again: true })
  assert.match(again.body.error.message, /your yes to it was used already/)
  await world.call('POST', `/sessions/${id}/retry`, { env: {} })
  await world.ended(id, 3)
  assert.deepEqual((await verdicts(world, id)).at(-1), 'deny by policy')
  const { body } = await world.call('GET', '/needs')
  assert.deepEqual(
    body.needs.map(({ kind, number }: { kind: string; number: number }) => [kind, number]),
    [['refused', 2]],
  )
})

test('another request, another task and a yes that is too old are refused although something was allowed', async t => {
  let command = PUSH
  const world = await scriptedWorld(
    t,
    pusher(() => ({ wants: command })),
  )
  const id = await refused(world)
  command = `${PUSH} origin main`
  await answer(world, { verdict: 'allow', again: true })
  await world.ended(id, 2)
  assert.deepEqual((await verdicts(world, id)).at(-1), 'deny by policy', 'another request')
  command = PUSH
  const other = await refused(world)
  assert.deepEqual(await verdicts(world, other), ['deny by policy'], 'the same request of another task')
  world.time.ahead = 25 * 3_600_000
  await world.call('POST', `/sessions/${id}/resume`, { env: {} })
  await world.ended(id, 3)
  assert.deepEqual((await verdicts(world, id)).at(-1), 'deny by policy', 'a day later')
  assert.equal((await world.store.escalations.get(1))?.used_at, null)
})

test('a no lets the task go on without it, and a yes that is only noted can still be acted on', async t => {
  const agent = pusher(prompt => (prompt.includes('said no') ? { wants: 'ls', says: () => 'Done without.' } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await refused(world)
  const { body } = await answer(world, { verdict: 'deny', reason: 'never push' })
  assert.equal(body.task, 'goes_on')
  await world.when(id, ({ status }) => status === 'completed')
  assert.match(agent.prompts[1] ?? '', /said no to the request that was refused .*They say: never push/)

  const second = await refused(world)
  const noted = await answer(world, { verdict: 'allow' }, 2)
  assert.deepEqual([noted.body.task, noted.body.escalation.again], ['as_it_is', true])
  const { body: listed } = await world.call('GET', '/needs')
  assert.deepEqual(
    listed.needs.map(({ kind, next }: { kind: string; next: string }) => [kind, next]),
    [['session', 'pcc respond 2 --approve --again']],
    'it still stands still',
  )
  assert.equal((await answer(world, { verdict: 'allow', again: true }, 2)).body.task, 'goes_on')
  await world.ended(second, 2)
  assert.deepEqual((await verdicts(world, second)).at(-1), 'allow by human')
})

test('nothing that is no refused request can be allowed again', async t => {
  const world = await scriptedWorld(t, pusher())
  const id = await refused(world)
  assert.match(
    (await answer(world, { verdict: 'deny', again: true })).body.error.message,
    /--again belongs to --approve/,
  )
  const task = (await world.store.sessions.get(id))?.task_id ?? ''
  const tasks = openTasks({ store: world.store, clock: { now: Date.now } })
  await world.store.transaction(tx => tasks.transition(task, { to: 'done', forced: true }, tx))
  assert.deepEqual((await world.call('GET', '/needs')).body.needs, [], 'it is gone with its task')
  assert.match((await answer(world, { verdict: 'allow', again: true })).body.error.message, /is done/)
})

const REQUEST: Request = {
  callId: 'c-1',
  tool: 'Bash',
  input: { command: 'sh x.sh', description: 'Run' },
  cwd: '/w/1/a',
}
const REASON = { code: 'file.delete', risk: 'HIGH', text: 'rm deletes' } as const
const ASSESSMENT: Assessment = {
  ...{ risk: 'HIGH', reasons: [REASON], pieces: [], normalised: 'Bash sh /w/1/x.sh' },
  files: { '/w/1/x.sh': 'aa' },
}
const DECISION: Decision = { verdict: 'deny', risk: 'HIGH', reason: 'no', confidence: 1, by: 'policy', morning: true }

test('what is allowed is bound to project, task, request and tree, and not to the attempt', () => {
  const place = (attempt: number, target = 'main') => ({
    ...{ directory: `/w/${attempt}`, top: `/w/${attempt}`, task: 't-1', attempt, branch: 'pcc/t-1', target, base: 'c' },
  })
  const row = (attempt: number, more: object = {}) => ({
    ...{ project: '/p', task_id: 't-1', options: { project: '/p', task: 't', place: place(attempt) } },
    ...more,
  })
  const bound = (
    of: ReturnType<typeof row>,
    { request = {}, assessment = {}, decision = {} }: { request?: object; assessment?: object; decision?: object } = {},
  ) =>
    boundTo(
      {
        request: { ...REQUEST, ...request },
        assessment: { ...ASSESSMENT, ...assessment },
        decision: { ...DECISION, ...decision },
      },
      aLiveSession(of),
    )
  const first = bound(row(1))
  const inSecond = { normalised: 'Bash sh /w/2/x.sh', files: { '/w/2/x.sh': 'aa' } }
  const second = (more: object = {}, request: object = {}) =>
    bound(row(2), { request: { cwd: '/w/2/a', ...request }, assessment: { ...inSecond, ...more } })
  assert.equal(first?.length, 64)
  assert.equal(second(), first, 'the next attempt')
  assert.equal(second({}, { input: { command: 'x', description: 'Say it otherwise' } }), first)
  const others = {
    file: second({ files: { '/w/2/x.sh': 'bb' } }),
    request: second({ normalised: 'Bash sh /w/2/y.sh' }),
    directory: second({}, { cwd: '/w/2' }),
    background: second({}, { input: { command: 'x', run_in_background: true } }),
    tool: bound(row(1), { request: { tool: 'Monitor' } }),
    task: bound(row(1, { task_id: 't-2' })),
    project: bound(row(1, { project: '/q' })),
    target: bound(row(1, { options: { project: '/p', task: 't', place: place(1, 'other') } })),
  }
  for (const [name, other] of Object.entries(others)) assert.notEqual(other, first, name)
  assert.equal(new Set(Object.values(others)).size, Object.keys(others).length)
})

test('a yes is for the files that a command names as they were, and none is possible where they were not all read', t => {
  const cwd = tempDir(t)
  const bound = (command: string, assessment: object = {}) =>
    boundTo(
      {
        request: { ...REQUEST, cwd, input: { command } },
        assessment: { ...ASSESSMENT, normalised: `Bash ${command}`, files: {}, ...assessment },
        decision: DECISION,
      },
      aLiveSession({ project: cwd, task_id: 't-1', options: { project: cwd, task: 't' } }),
    )
  const command = 'rm -rf build; node tool.js'
  writeFileSync(join(cwd, 'tool.js'), 'console.log(1)\n')
  const first = bound(command)
  assert.equal(first?.length, 64)
  assert.equal(bound(command), first)
  writeFileSync(join(cwd, 'tool.js'), 'process.exit(2)\n')
  assert.notEqual(bound(command), first)
  writeFileSync(join(cwd, 'tool.js'), 'x'.repeat(300_000))
  assert.equal(bound(command), null, 'a file that is too large')
  assert.equal(bound('make all', { hasUnread: true }), null)
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`/w/${at}`, 'aa']))
  assert.equal(bound('make all', { files: many }), null, 'more files than are remembered')
})

test('no yes lifts a rule, a limit of the worktree, a hidden secret or a failure of the policy', () => {
  const bound = (decision: Partial<Decision>, code = 'file.delete') =>
    boundTo(
      {
        request: REQUEST,
        assessment: { ...ASSESSMENT, reasons: [{ ...REASON, code }] },
        decision: { ...DECISION, ...decision },
      },
      aLiveSession({ task_id: 't-1' }),
    )
  assert.notEqual(bound({}), null)
  const { morning: _, ...plain } = DECISION
  const live = aLiveSession({ task_id: 't-1' })
  const ruled: Decision = { ...plain, by: 'rule', rule: 'deny Bash' }
  assert.equal(boundTo({ request: REQUEST, assessment: ASSESSMENT, decision: ruled }, live), null)
  assert.equal(bound({}, 'secret.leaves'), null)
  assert.equal(bound({}, 'boundary.git'), null)
  assert.equal(boundTo({ request: REQUEST, assessment: ASSESSMENT, decision: DECISION }, aLiveSession()), null)
})
