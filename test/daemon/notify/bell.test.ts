import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentSessions } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

const OPTIONS = '[{ label: teal, description: "" }, { label: plum, description: "" }]'
const ask = (what: string) =>
  `AskUserQuestion: { questions: [{ question: Which hue for the ${what}?, header: Hue, multiSelect: false, options: ${OPTIONS} }] }`
const SCENARIO = `
conversations:
  - match: ask one
    turns:
      - tools: [{ ${ask('moon')} }]
      - text: Done.
  - match: ask another
    turns:
      - tools: [{ ${ask('sun')} }]
      - text: Done.
`

test('a terminal that shows one session is rung for what another session waits for', async t => {
  const world = await agentSessions(t, SCENARIO, { env: { PCC_NOTIFICATIONS_BELL: 'true' } })
  const away = await world.start('ask one')
  await viewWhen(world.daemon, away.id, ({ status }) => status === 'waiting_input')
  const shown = await world.daemon.stream(`/events?session=${away.id}&attach=1`)
  const other = await world.start('ask another')
  const rung = (
    await shown.until(event => event.kind === 'person.called' && event.body.text.includes('decision 2'))
  ).at(-1)
  shown.close()
  assert.equal(rung?.subject, away.id)
  const view = await viewWhen(world.daemon, other.id, ({ status }) => status === 'waiting_input')
  assert.equal(view.asks[0]?.number, 2)
})
