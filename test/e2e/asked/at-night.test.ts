import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { receiver } from '../../human/notify/notify-harness.ts'
import { agentWorld } from '../agent-world.ts'

const SCENARIO = `
conversations:
  - match: paint the moon
    turns:
      - text: I look at the moon.
        tools: [{ Bash: { command: "until [ -e go ]; do sleep 0.1; done", description: Wait } }]
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which hue for the moon?, header: Hue, multiSelect: false, options: [{ label: teal, description: "" }, { label: plum, description: "" }] }]
      - expect: { tool_result_contains: plum }
        text: The moon is plum.
`

test('a question at night is told and listed, outlives a killed daemon, is answered by number, and the next time by memory', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const toldAt: number[] = []
  const ntfy = await receiver(t, (_got, response) => {
    toldAt.push(Date.now())
    response.end('{}')
  })
  Object.assign(pcc.env, {
    PCC_NOTIFICATIONS_DESKTOP: 'false',
    PCC_NOTIFICATIONS_NTFY_SERVER: ntfy.url,
    PCC_NOTIFICATIONS_NTFY_TOPIC: 'night',
  })
  const start = async (name: string) => {
    const args = ['start', project, '--task', 'Please paint the moon', '--session-name', name, '--json']
    const { code, stdout, stderr } = await pcc.run(args)
    return { code, stderr, log: eventsIn(stdout) }
  }
  const begun = start('first')
  while (agentsIn(project).length === 0) await new Promise(resolve => setTimeout(resolve, 50))
  writeFileSync(join(project, 'go'), '')
  const first = await begun
  assert.equal(first.code, 3, first.stderr)
  const asked = first.log.findLast(({ kind }) => kind === 'tool.finished')?.time ?? 0
  assert.match((await ntfy.nth(1)).body.message, /Which hue for the moon\?\n {2}1\. teal\n {2}2\. plum/)
  const { escalations } = JSON.parse((await pcc.run(['pending', '--json'])).stdout) as { escalations: EscalationView[] }
  const [row, ...others] = escalations
  assert.deepEqual([row?.number, row?.state, others.length], [1, 'open', 0])
  const [told, listed] = [(toldAt[0] ?? 0) - asked, (row?.created_at ?? 0) - asked]
  t.diagnostic(`listed after ${listed} ms, told after ${told} ms`)
  assert.ok(listed >= 0 && told >= 0, 'nobody is told of what was not asked')

  const { pid } = JSON.parse((await pcc.run(['daemon', 'status', '--json'])).stdout) as { pid: number }
  assert.deepEqual(agentsIn(project), [], 'no agent waits for the person')
  process.kill(pid, 'SIGKILL')
  const answered = await pcc.run(['respond', '1', 'plum'])
  assert.equal(answered.code, 0, answered.stderr)
  const { code, stdout } = await pcc.run(['attach', 'first', '--json'])
  assert.equal(code, 0)
  const parked = bodiesOf(first.log, 'question.parked')[0]
  const heard = bodiesOf(eventsIn(stdout), 'question.answered')
  assert.deepEqual(
    heard.map(({ call_id, answers }) => [call_id, answers]),
    [[parked?.call_id, { 'Which hue for the moon?': 'plum' }]],
    'the same call gets the answer',
  )
  assert.match(
    bodiesOf(eventsIn(stdout), 'agent.said')
      .map(({ text }) => text)
      .join(),
    /The moon is plum/,
  )
  assert.match((await ntfy.nth(2)).body.title, /^first in \S+ completed$/)

  const second = await start('second')
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(
    bodiesOf(second.log, 'question.answered').map(({ by }) => by),
    ['memory'],
  )
  const view = JSON.parse((await pcc.run(['status', 'second', '--json'])).stdout) as SessionView
  assert.deepEqual(view.questions, { auto: 1, human: 0 })
  assert.deepEqual(
    simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )
})

/** Processes that work in the project: an agent does, and all that it starts. Where the system does not tell, none. */
function agentsIn(project: string): string[] {
  const pids = existsSync('/proc') ? readdirSync('/proc').filter(name => /^\d+$/.test(name)) : []
  return pids.filter(pid => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === project
    } catch {
      return false // it has left, or is not ours
    }
  })
}

function eventsIn(stdout: string): StoredEvent[] {
  const lines = stdout.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line) as StoredEvent)
}
