import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'
import { plan } from './plan.ts'

// What comes after something names it in its brief, so the last ones stand first.
const SCENARIO = `
conversations:
  - match: open the house
    turns: [{ text: The house is open. }]
  - match: paint the walls
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - text: "Painted: {{last_tool_result}}"
  - match: { contains: lay the floor, model: opus }
    turns: [{ text: The floor is laid., expect: { prompt_contains: attempt } }]
  - match: lay the floor
    turns: [{ fault: refusal }]
  - match: dig the ground
    turns:
      - tools: [{ Bash: { command: cat gate } }]
      - tools: [{ Bash: { command: 'printf "%s of %s" "$PCC_ITERATION" "$PCC_TOTAL"' } }]
        expect: { note_contains: mind the pipes }
      - text: "This was {{last_tool_result}}."
`

test('a diamond is worked through on a board: one task is told something, one fails once, one asks', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  // Its first agent waits at a pipe that lies in the project itself.
  pcc.env['PCC_WORKTREES_MODE'] = 'off'
  const ids = await plan(pcc, project, [
    ['dig the ground'],
    ['paint the walls', 'dig the ground'],
    ['lay the floor', 'dig the ground'],
    ['open the house', 'paint the walls', 'lay the floor'],
  ])
  execFileSync('mkfifo', [join(project, 'gate')])
  const supervisor = ids.get('lay the floor') ?? ''
  const board = onTerminal(t, pcc, ['run', project])
  const [, run = ''] = await board.see(/Run (r-\w+): the whole project +● running/)
  await board.see(/4 left/)
  await board.see(/▶ t-\w+ dig the ground/)
  await board.see(/Bash cat gate/)
  board.type('\x03')
  await board.see(/\[D\]etach.*\[G\]uidance/)
  board.type('g')
  await board.see(/Guidance to t-\w+ \(.*\n> _/)
  board.type('mind the pipes\r')
  await board.see(/> mind the pipes\n> _/)
  board.type('\r')
  await board.see(/Added to t-\w+ dig the ground, and its agent was told/)
  writeFileSync(join(project, 'gate'), 'open')
  await board.see(/✓ t-\w+ dig the ground done \(unverified\) in/)
  await board.see(/paint the walls.*\n.*waits for you: pcc respond 1/)
  await board.see(new RegExp(`✓ ${supervisor} lay the floor done`))
  const { stdout: during } = await pcc.run(['status', run])
  assert.match(during, /State: ● running\nTasks: 2 done \(unverified\), 1 waiting, 1 left\nAttempts: 4\n/)
  assert.match(during, new RegExp(`✗ ${supervisor} lay the floor failed after .*\n✓ ${supervisor} lay the floor done`))
  const answered = await pcc.run(['respond', '1', 'blue'])
  assert.equal(answered.code, 0, answered.stderr)
  await board.see(
    /✓ Run r-\w+ of the whole project: complete, every task is done, 4 of 4 unverified[\s\S]*?4 done \(unverified\); 5 attempts/,
  )
  assert.equal(await board.exit, 0)
  assert.match((await pcc.run(['runs'])).stdout, new RegExp(`${run} .*✓ complete +4 done \\(unverified\\)`))
  const shown = await pcc.run(['task', 'show', ids.get('dig the ground') ?? ''])
  assert.match(shown.stdout, /This was 1 of 4\./, 'the agent knows how far it is')
  assert.deepEqual(
    simulator.requests.filter(({ unexpected }) => unexpected?.length),
    [],
  )
})
