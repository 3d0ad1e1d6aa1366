import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

const asking = (question: string) =>
  `{ AskUserQuestion: { questions: [{ question: "${question}", header: Hue, multiSelect: false, options: [{ label: teal, description: "" }, { label: plum, description: "" }] }] } }`

const SCENARIO = `
conversations:
  - match: ask two
    turns:
      - tools: [${asking('Which hue inside?')}, ${asking('Which hue outside?')}]
      - tools: [${asking('Which hue outside?')}]
      - text: "You said: {{last_tool_result}}"
`

test('two questions at once whose last terminal is left wait both, and are answered in any order', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('ask two', { attach: true })
  const terminal = await world.daemon.stream(`/events?session=${id}&attach=1`)
  await terminal.until(event => event.kind === 'question.asked' && event.body.number === 2)
  terminal.close()
  await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  const rows = async () => (await world.daemon.call('GET', '/escalations')).body.escalations
  assert.deepEqual(
    (await rows()).map(({ number, state, count }: Record<string, unknown>) => [number, state, count]),
    [
      [1, 'open', 1],
      [2, 'open', 1],
    ],
  )
  const say = (number: number, answer: string) =>
    world.daemon.call('POST', `/escalations/${number}/answer`, { body: { answer, env: world.env } })
  const parked = bodiesOf(await world.log(id), 'question.parked')
  assert.deepEqual([parked.length, parked[0]?.number], [1, 1], 'an agent can put off one call')
  assert.equal((await say(2, 'plum')).status, 200)
  assert.equal((await say(1, 'teal')).status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const answers = bodiesOf(await world.log(id), 'question.answered')
  assert.deepEqual(
    answers.map(({ answers, by }) => [Object.values(answers)[0], by]),
    [
      [undefined, 'nobody'],
      ['teal', 'human'],
      ['plum', 'memory'],
    ],
  )
  assert.deepEqual(await rows(), [])
})
