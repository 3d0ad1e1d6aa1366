import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { StoredEvent } from '../../src/domain/event.ts'
import { type AgentWorld, agentWorld } from './agent-world.ts'
import { onTerminal } from './pty.ts'

const SCENARIO = `
conversations:
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: "It said: {{last_tool_result}}"
  - match: ask me
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - text: "You said: {{last_tool_result}}"
`
const WAIT = { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' }

/** A session called `night` that has parked; what its start printed. */
async function parked(t: TestContext, task: string): Promise<AgentWorld & { shown: string }> {
  const world = await agentWorld(t, SCENARIO)
  const args = ['start', world.project, '--task', task, '--session-name', 'night']
  const { code, stdout, stderr } = await world.pcc.run(args, { env: WAIT })
  assert.equal(code, 3, stderr)
  return { ...world, shown: stdout }
}

test('a call that waits is drawn as a permission, listed with its number, and a yes by number lets it run', async t => {
  const { pcc, project, shown } = await parked(t, 'make the file')
  assert.match(
    shown,
    /PERMISSION wanted: Bash\n +tee made\n +HIGH risk: .*\n(.|\n)*pcc respond 1 --approve, or --deny\n/,
  )
  assert.doesNotMatch(shown, /QUESTION/)
  const { stdout: pending } = await pcc.run(['pending'])
  assert.match(pending, /│ 1 │ s-\w+ │ Perm\. │ Approve: tee made +│ (just now|\d+\w ago)/)
  assert.match(pending, /│ HIGH risk, waits: /)
  assert.doesNotMatch(pending, /pcc attach/, 'it has a number')
  const { stdout: status } = await pcc.run(['status', 'night'])
  assert.match(
    status,
    /Needs you:\n {2}Bash → tee made \(HIGH risk: .*\n.*pcc attach s-\w+\n +or: pcc respond 1 --approve, or --deny\n/,
  )
  assert.match((await pcc.run(['attach', 'night'])).stdout, /PERMISSION wanted: Bash\n +tee made\n/)

  const answered = await pcc.run(['respond', '1', '--approve', '--reason', 'go on'])
  assert.equal(answered.code, 0, answered.stderr)
  assert.match(
    answered.stdout,
    /^Approved: decision 1 of session (s-\w+)\n {2}tee made\nThe session goes on; watch it with: pcc attach \1\nIt was for this one call: HIGH requests are asked about every time\.\n$/,
  )
  assert.equal((await pcc.run(['attach', 'night', '--json'])).code, 0)
  assert.ok(existsSync(join(project, 'made')))
  assert.equal((await pcc.run(['pending'])).stdout, 'Nothing waits for you.\n')
})

test('a no by number reaches the model with its reason, also from a shell with another login', async t => {
  const { pcc, project } = await parked(t, 'make the file')
  const other = { env: { ANTHROPIC_API_KEY: 'sk-ant-another' } }
  const { stdout } = await pcc.run(['respond', '1', '--deny', '--reason', 'write it with the Write tool'], other)
  assert.match(stdout, /^Denied: decision 1 .*\n {2}tee made\nThe session goes on; /)
  const events = eventsIn((await pcc.run(['attach', 'night', '--json'])).stdout)
  const said = events.findLast(event => event.kind === 'agent.said')
  assert.match(said?.kind === 'agent.said' ? said.body.text : '', /It said: .*write it with the Write tool/)
  assert.equal(existsSync(join(project, 'made')), false)
})

test('a parked question is answered by number or words, and what does not fit leaves it open', async t => {
  const { pcc, shown } = await parked(t, 'ask me')
  assert.match(shown, /QUESTION from Claude:\n(.|\n)*Answer with: pcc respond 1 "…"\n/)
  assert.match((await pcc.run(['pending'])).stdout, /│ 1 │ s-\w+ │ Q&A +│ Which colour\? +│/)
  const failing = async (...args: string[]) => {
    const { code, stdout, stderr } = await pcc.run(['respond', ...args])
    assert.deepEqual([code, stdout], [2, ''], stderr)
    return stderr
  }
  assert.match(await failing('1', ''), /Decision 1 was not answered: the answer is empty/)
  assert.match(await failing('1', '3'), /there is no option 3: choose 1 to 2, or say it in words/)
  assert.match(await failing('1', 'x'.repeat(65_537)), /the answer is longer than 64 KB/)
  assert.match(await failing('1', 'sky', 'blue'), /it asks one question, and 2 answers were given; put it into quotes/)
  assert.match(await failing('2', 'red'), /There is no decision 2/)
  assert.match(
    (await pcc.run(['respond', '1', '2'])).stdout,
    /^Answered: decision 1 of session s-\w+\n {2}Which colour\?\n {4}\[1\] red\n {4}\[2\] blue\n {2}> blue\nThe session goes on; /,
  )
  const events = eventsIn((await pcc.run(['attach', 'night', '--json'])).stdout)
  const said = events.findLast(event => event.kind === 'agent.said')
  assert.match(said?.kind === 'agent.said' ? said.body.text : '', /You said: .*blue/)
  assert.match(await failing('1', 'red'), /Decision 1 was answered by human on /)
})

test('a call that waits is answered by key in attach, and its decision is settled by that', async t => {
  const { pcc, project } = await parked(t, 'make the file')
  const terminal = onTerminal(t, pcc, ['attach', 'night'], WAIT)
  await terminal.see(/PERMISSION wanted: Bash\n +tee made\n(.|\n)*Bash → tee made {2}\[y\] allow once/)
  terminal.type('y')
  await terminal.see(/Session completed/)
  assert.equal(await terminal.exit, 0)
  assert.ok(existsSync(join(project, 'made')))
  assert.match((await pcc.run(['respond', '1', '--deny'])).stderr, /Decision 1 was approved by human on /)
})

function eventsIn(lines: string): StoredEvent[] {
  return lines
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as StoredEvent)
}
