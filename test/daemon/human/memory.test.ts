import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RememberedView } from '../../../src/domain/remembered-answer.ts'
import { bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { type InProcess, inProcess } from '../in-process.ts'

const DAY_MS = 86_400_000
const OPTIONS = '[{ label: red, description: "" }, { label: blue, description: "" }]'
const SCENARIO = `
conversations:
  - match: paint it
    turns:
      - tools: [{ AskUserQuestion: { questions: [{ question: Which colour?, header: "", multiSelect: false, options: ${OPTIONS} }] } }]
      - text: "You said: {{last_tool_result}}"
`

test('what a person answered once is remembered', async t => {
  const world = await answeredBlue(t)
  const remembered = async () =>
    (await world.daemon.call<{ answers: RememberedView[] }>('GET', '/answers')).body.answers

  await t.test('the second time it is answered from memory, and says as when and by whom', async () => {
    const again = await world.start('paint it')
    await viewWhen(world.daemon, again.id, ({ status }) => status === 'completed')
    const log = await world.log(again.id)
    assert.match(bodiesOf(log, 'agent.said').at(-1)?.text ?? '', /You said: .*blue/)
    const [answered] = bodiesOf(log, 'question.answered')
    assert.equal(answered?.by, 'memory')
    assert.match(answered?.reasoning ?? '', /^answered as on \d+ \w{3,4} by you$/)
    assert.deepEqual(
      (await remembered()).map(({ scope, project, asked, answer }) => [scope, project, asked, answer]),
      [['project', world.project, 'Which colour?', 'blue']],
    )
  })

  await t.test('memory.answers_confidence: below the threshold a person is asked again', async () => {
    assert.equal(await nextTime(world, { PCC_MEMORY_ANSWERS_CONFIDENCE: '0.5' }), 'waiting_input')
    const [row] = (await world.daemon.call('GET', '/escalations')).body.escalations
    assert.deepEqual([row.context.suggestion.answer, row.context.suggestion.confidence], [['blue'], 0.5])
  })

  await t.test('memory.answers_ttl_days: an older answer does not count', async () => {
    const { store } = world
    const answered_at = Date.now() - 10 * DAY_MS
    await store.transaction(tx => tx.db.updateTable('answers').set({ answered_at }).execute())
    assert.equal(await nextTime(world, { PCC_MEMORY_ANSWERS_TTL_DAYS: '11' }), 'completed')
    assert.equal(await nextTime(world, { PCC_MEMORY_ANSWERS_TTL_DAYS: '9' }), 'waiting_input')
    await store.transaction(tx => tx.db.updateTable('answers').set({ answered_at: Date.now() }).execute())
  })

  await t.test('once forgotten it is asked again', async () => {
    const [{ id } = { id: '' }] = await remembered()
    assert.equal((await world.daemon.call('DELETE', `/answers/${id}`)).body.forgotten.asked, 'Which colour?')
    assert.equal((await world.daemon.call('DELETE', `/answers/${id}`)).body.error.code, 'answer_unknown')
    assert.equal(await nextTime(world), 'waiting_input')
  })
})

/** A person was asked once and answered "blue". */
async function answeredBlue(t: TestContext): Promise<InProcess> {
  const world = await inProcess(t, SCENARIO)
  assert.equal(await nextTime(world), 'waiting_input')
  const [{ number }] = (await world.daemon.call('GET', '/escalations')).body.escalations
  const body = { answer: 'blue', env: world.env }
  assert.equal((await world.daemon.call('POST', `/escalations/${number}/answer`, { body })).body.remembered, true)
  return world
}

/** What becomes of a session that asks. */
async function nextTime(world: InProcess, settings: Record<string, string> = {}): Promise<string> {
  const { id } = await world.start('paint it', { settings })
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input' || status === 'completed')
  return view.status
}
