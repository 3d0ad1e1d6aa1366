import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { gateIn } from '../../support/gate.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - match: give it all up
    turns: [{ text: "It is beyond me.\\n\\n<promise>FAILURE: no database here</promise>" }]
  - match: wait at the gate
    turns:
      - tools: [{ Bash: { command: cat gate } }]
      - text: Through.
  - match: easy
    turns: [{ text: Done. }]
`

test('how a run ends is what its command exits with: 0, 1, 3, 4 and 130', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const add = async (feature: string, title: string, ...more: string[]) => {
    const { stdout, stderr } = await pcc.run([
      'task',
      'add',
      title,
      '--feature',
      feature,
      '--project',
      project,
      '--json',
      ...more,
    ])
    assert.notEqual(stdout, '', stderr)
    return JSON.parse(stdout).task.id as string
  }
  const run = (feature: string, ...more: string[]) => pcc.run(['run', feature, '--project', project, ...more])

  const empty = await pcc.run(['run', project])
  assert.equal(empty.code, 3, empty.stderr)
  assert.match(empty.stdout + empty.stderr, /no tasks/)

  await add('small', 'an easy thing')
  await add('small', 'another easy thing')
  const capped = await run('small', '--limit', '1')
  assert.deepEqual([capped.code, /1 attempt was made/.test(capped.stdout)], [4, true], capped.stdout)
  assert.match(capped.stdout, /Models, by the strategy cost-optimized: sonnet for 1 task \(cost not known\)/)
  const whole = await run('small')
  assert.equal(whole.code, 0, whole.stdout)

  await add('large', 'give it all up')
  const failed = await run('large')
  assert.deepEqual([failed.code, /no database here/.test(failed.stdout)], [1, true], failed.stdout)

  const first = await add('held', 'never begun')
  await add('held', 'easy after it', '--after', first)
  await pcc.run(['task', 'cancel', first])
  const blocked = await run('held')
  assert.deepEqual([blocked.code, /cannot run/.test(blocked.stdout)], [3, true], blocked.stdout)

  const task = await add('long', 'wait at the gate')
  const gate = gateIn(t, project)
  const board = onTerminal(t, pcc, ['run', 'long', '--project', project])
  await board.see(/Bash cat gate/)
  board.type('\x03')
  await board.see(/\[D\]etach/)
  board.type('\x03')
  assert.equal(await board.exit, 130)
  const { task: shown } = JSON.parse((await pcc.run(['task', 'show', task, '--json'])).stdout)
  assert.equal(shown.state, 'ready', 'the claim is given back')
  writeFileSync(gate, '', { flag: 'r+' })
})
