import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'
import { SCENARIO } from './scenario.ts'

test('an interview is left half-way, goes on with what was said, and becomes a spec, a plan and tasks', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const args = ['feature', 'create', 'paint', '--project', project]
  const first = onTerminal(t, pcc, args)
  await first.see(/Feature paint: interview \(s-\w+\)/)
  await first.see(/Who is it for\?/)
  await first.see(/\[Enter\] Send/)
  first.type('the landlord\r')
  await first.see(/Which colour\?/)
  await first.see(/\[1-2\] Select/)
  first.type('\x03')
  await first.see(/Feature paint: ⏳ interview: waits for you/)
  await first.exit
  const { stdout } = await pcc.run(['feature', 'list', '--project', project])
  assert.match(stdout, /paint +⏳ interview: waits for you/)

  const second = onTerminal(t, pcc, args)
  await second.see(/Which colour\?/)
  await second.see(/\[1-2\] Select/)
  second.type('2')
  await second.see(/The spec is written: .*spec\.md/)
  await second.see(/\[Enter\] plan it/)
  assert.equal(
    readFileSync(join(project, '.perpetualcc/features/paint/spec.md'), 'utf8'),
    '# Paint\nThe walls are painted.\n## Open questions\nShall it shine?\n',
  )
  second.type('\r')
  await second.see(/The plan is written: .*plan\.md/)
  second.type('\r')
  await second.see(/✓ Feature paint is ready: 2 tasks\./)
  assert.equal(await second.exit, 0)
  const asked = simulator.requests.filter(({ first_prompt }) => first_prompt.includes('You interview a person'))
  assert.equal(asked.length, 3, 'one conversation, and nothing was asked twice')
  assert.equal(asked[1]?.tool_results[0]?.text, 'the landlord')
  assert.match(asked[2]?.prompt ?? '', /^- Which colour\? blue$/m)
})

const ENOUGH = `
conversations:
  - match: You interview a person
    turns:
      - tools: [{ mcp__pcc__ask_human: { question: Who is it for? } }]
      - tools: [{ mcp__pcc__ask_human: { question: And what else? } }]
        expect: { tool_failed: true, tool_result_contains: write the spec now }
      - text: |
          <spec>
          # Paint
          {{last_tool_result}}
          </spec>
        expect: { tool_failed: true }
`

test('a person who says done is asked nothing more', async t => {
  const { pcc, project, simulator } = await agentWorld(t, ENOUGH)
  const terminal = onTerminal(t, pcc, ['feature', 'create', 'paint', '--project', project])
  await terminal.see(/Who is it for\?/)
  await terminal.see(/\[Enter\] Send/)
  terminal.type('done\r')
  await terminal.see(/\[Enter\] plan it/)
  terminal.type('q\r')
  await terminal.see(/Feature paint: ○ next: the plan\s+Go on with: pcc feature create paint/)
  assert.equal(await terminal.exit, 0)
  assert.deepEqual(
    simulator.requests.filter(({ unexpected }) => unexpected?.length),
    [],
  )
})
