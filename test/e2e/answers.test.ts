import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import { gitProject } from '../support/world.ts'
import { agentWorld } from './agent-world.ts'
import { onTerminal } from './pty.ts'

const SCENARIO = `
conversations:
  - match: paint it
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - text: "You said: {{last_tool_result}}"
`

test('a question is answered in a box, the next session has the answer from memory, and --always carries it everywhere', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const start = (name: string, where = project) =>
    pcc.run(['start', where, '--task', 'paint it', '--session-name', name])
  assert.equal((await start('first')).code, 3)
  const terminal = onTerminal(t, pcc, ['respond', '1', '--interactive'])
  await terminal.see(/Human input needed for session s-\w+(.|\n)*Claude asks:(.|\n)*\[2\] blue(.|\n)*Task: paint it/)
  await terminal.see(/\[1-2\] Select/)
  terminal.type('2')
  await terminal.see(/Answered: decision 1 of session/)
  await terminal.see(/Remembered for 90 days in this project/)
  assert.equal(await terminal.exit, 0)

  const second = await start('second')
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /You said: .*blue/)
  assert.match(second.stdout, /answered as on \d+ \w+ by you/)
  const view = JSON.parse((await pcc.run(['status', 'second', '--json'])).stdout) as SessionView
  assert.deepEqual(view.questions, { auto: 1, human: 0 })

  const elsewhere = gitProject(t)
  assert.equal((await start('third', elsewhere)).code, 3, 'another project asks')
  const always = await pcc.run(['respond', '2', 'red', '--always', '--everywhere', '--yes'])
  assert.equal(always.code, 0, always.stderr)
  assert.match(always.stderr, /From now on in every project, until you forget it:\n {2}Which colour\? > red\n/)
  assert.match((await start('fourth', gitProject(t))).stdout, /You said: .*red/)
  const { stdout } = await pcc.run(['answers', 'list'])
  assert.match(stdout, /Which colour\? │ blue +│ you/)
  assert.match(stdout, /everywhere +│ Which colour\? │ red +│ you │ .* │ always/)
})
