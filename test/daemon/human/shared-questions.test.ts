import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { openStore } from '../../../src/store/open.ts'
import { claimParked } from '../../../src/supervisor/session/resume-parked.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'

const OPTIONS = '[{ label: red, description: "" }, { label: blue, description: "" }]'
const MARKED = '[{ label: "blue (Recommended)", description: "" }, { label: Red, description: "" }]'
const ask = (question: string, options: string) => `
      - text: Looking around.
        tools: [{ AskUserQuestion: { questions: [{ question: "${question}", header: "", multiSelect: false, options: ${options} }] } }]
      - text: "You said: {{last_tool_result}}"`
const SCENARIO = `
conversations:
  - match: paint it
    turns:${ask('Which colour?', OPTIONS)}
  - match: paint again
    turns:${ask(' which  COLOUR ', MARKED)}
`

test('the same question of several sessions is one entry, and one answer lets all of them go on', async t => {
  const world = await inProcess(t, SCENARIO)
  const ids: string[] = []
  // One is stopped; of the two that go on, one asks in other words.
  for (const task of ['paint it', 'paint it', 'paint again']) ids.push((await world.start(task)).id)
  for (const id of ids) await parked(world.daemon, id)
  const [row, ...more] = await rows(world.daemon)
  assert.deepEqual([row?.number, row?.count, more.length], [1, 3, 0])
  assert.deepEqual(row?.sessions.toSorted(), ids.toSorted())
  assert.deepEqual(row?.context.steps, ['said: Looking around.'])
  for (const id of ids) assert.equal((await rows(world.daemon, `?session=${id}`))[0]?.number, 1)

  const stopped = row?.session_id ?? ''
  await world.daemon.call('POST', `/sessions/${stopped}/stop`, { body: {} })
  const [left] = await rows(world.daemon)
  assert.equal(left?.state, 'open', 'the others still wait')
  assert.equal(left?.sessions.includes(stopped), false)

  const reply = await world.daemon.call('POST', '/escalations/1/answer', { body: { answer: 'blue', env: world.env } })
  assert.deepEqual([reply.status, reply.body.remembered], [200, true])
  for (const id of ids.filter(each => each !== stopped)) {
    await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
    const log = await world.log(id)
    assert.match(bodiesOf(log, 'agent.said').at(-1)?.text ?? '', /You said: .*blue/)
    assert.deepEqual(
      bodiesOf(log, 'escalation.answered').map(({ number }) => number),
      [1],
    )
  }
  assert.deepEqual(await rows(world.daemon), [])
})

test('who cannot go on with the shared answer is asked again under a number of its own; who has the same login goes on', async t => {
  const world = await agentSessions(t, SCENARIO, { env: { PCC_SESSIONS_KEEP_ENVIRONMENT: 'false' } })
  const first = await world.start('paint it')
  const same = await world.start('paint it')
  const other = await world.start('paint it', { env: { ...world.env, ANTHROPIC_API_KEY: 'sk-ant-fake-other' } })
  for (const { id } of [first, same, other]) await parked(world.daemon, id)
  world.daemon.child.kill('SIGKILL') // what was only in memory is lost as well
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home })
  const answer = (number: number, env: Record<string, string>) =>
    daemon.call('POST', `/escalations/${number}/answer`, { body: { answer: '1', env } })
  assert.equal((await answer(1, world.env)).status, 200)
  const [row] = await rows(daemon)
  assert.deepEqual([row?.number, row?.sessions, row?.state], [2, [other.id], 'open'])
  for (const { id } of [first, same]) await viewWhen(daemon, id, ({ status }) => status === 'completed')
  assert.equal((await parked(daemon, other.id)).asks[0]?.number, 2)
  assert.equal((await answer(2, { ...world.env, ANTHROPIC_API_KEY: 'sk-ant-fake-other' })).status, 200)
  await viewWhen(daemon, other.id, ({ status }) => status === 'completed')
})

test('of a daemon that dies between the answer and the sessions, the next one brings it to all of them', async t => {
  const world = await agentSessions(t, SCENARIO)
  const ids = [(await world.start('paint it')).id, (await world.start('paint it')).id]
  for (const id of ids) await parked(world.daemon, id)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  {
    await using store = await openStore({ file: world.daemon.paths.database })
    const [id = ''] = ids
    const waiting = (await store.sessions.get(id))?.parked
    assert.ok(waiting)
    const patch = { state: 'starting', owner: 'boot-dead', ended_as: null } as const
    const said = { answer: ['red'], by: 'ann' }
    await claimParked({ store, clock: systemClock }, { id, parked: waiting, said, patch })
  }
  const daemon = await startDaemon(t, { home: world.daemon.home })
  for (const id of ids) {
    await viewWhen(daemon, id, ({ status }) => status === 'completed')
    const { body } = await daemon.call('GET', `/sessions/${id}/events`)
    assert.match(bodiesOf(body.events, 'agent.said').at(-1)?.text ?? '', /You said: .*red/)
  }
  assert.deepEqual(await rows(daemon), [])
})

function parked(daemon: Sessions['daemon'], id: string): Promise<SessionView> {
  return viewWhen(daemon, id, ({ status }) => status === 'waiting_input')
}

async function rows(daemon: Sessions['daemon'], query = ''): Promise<EscalationView[]> {
  return (await daemon.call<{ escalations: EscalationView[] }>('GET', `/escalations${query}`)).body.escalations
}
