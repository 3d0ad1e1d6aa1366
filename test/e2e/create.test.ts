import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld } from './agent-world.ts'
import { onTerminal } from './pty.ts'

const SCENARIO = `
conversations:
  - match: only one task please
    turns:
      - expect: { prompt_contains: "You have proposed these tasks" }
        text: '{"tasks": [{"title": "Build all of it"}]}'
  - match: notes over HTTP
    turns:
      - expect: { offers_tool: Read, not: { offers_tool: Bash } }
        tools:
          - Read: { file_path: "{{cwd}}/README.md" }
          - Write: { file_path: "{{cwd}}/written.txt", content: no }
          - Bash: { command: "touch {{cwd}}/touched.txt" }
          - Agent: { description: other, prompt: write a file, subagent_type: general-purpose }
      - expect: { tool_result_contains: "# sample" }
        text: |
          {"tasks": [
            {"id": "schema", "title": "Design the schema", "acceptance": ["docs/schema.md is there"]},
            {"id": "api", "title": "Build the API", "after": ["schema"], "priority": 2}
          ], "remarks": "I took SQLite for granted."}
  - match: anything at all
    turns:
      - text: I would build a thing.
      - expect: { prompt_contains: there is no JSON object in it }
        text: '{"tasks": [{"title": "Build the thing"}]}'
`

test('an agent that cannot write makes tasks of what is wanted, mends what is wrong, and nothing is stored without a yes', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const stored = async () =>
    (JSON.parse((await pcc.run(['task', 'list', '--json'], { cwd: project })).stdout).tasks as { title: string }[]).map(
      ({ title }) => title,
    )
  writeFileSync(join(pcc.home, 'wanted.txt'), 'notes over HTTP, please')
  const from = ['--file', join(pcc.home, 'wanted.txt'), '--project', project]
  const unasked = await pcc.run(['task', 'create', ...from])
  assert.equal(unasked.code, 3, unasked.stderr)
  assert.match(
    unasked.stdout,
    /^2 tasks proposed \(.*\):\n\n1\. Design the schema \[schema\]\n {3}✓ docs\/schema\.md is there\n/,
  )
  assert.match(unasked.stdout, /\n2\. Build the API \[api\]\n {3}after schema {2}priority 2\n/)
  assert.match(unasked.stdout, /\nRemarks:\n {3}I took SQLite for granted\.\n$/)
  assert.match(unasked.stderr, /there is no terminal to ask in\.\n.*--yes\. Nothing was changed/)
  assert.deepEqual(await stored(), [])
  assert.deepEqual([existsSync(join(project, 'written.txt')), existsSync(join(project, 'touched.txt'))], [false, false])
  assert.equal(execFileSync('git', ['status', '--porcelain'], { cwd: project, encoding: 'utf8' }), '')
  assert.deepEqual(
    simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )

  const mended = await pcc.run(['task', 'create', 'anything at all', '--project', project, '--yes', '--json'])
  assert.equal(mended.code, 0, mended.stderr)
  const { added, tasks } = JSON.parse(mended.stdout)
  assert.deepEqual(tasks, [{ title: 'Build the thing' }])
  assert.deepEqual([added[0].title, added[0].state], ['Build the thing', 'ready'])
  assert.deepEqual(await stored(), ['Build the thing'])

  const terminal = onTerminal(t, pcc, ['task', 'create', ...from])
  await terminal.see(/Store 2 tasks\? \[y\/N\], or say what to change:/)
  terminal.type('only one task please\n')
  await terminal.see(/1\. Build all of it[\s\S]*Store 1 task\?/)
  terminal.type('y\n')
  await terminal.see(/Added t-[0-9a-f]{6} Build all of it: ready/)
  assert.equal(await terminal.exit, 0)
  assert.deepEqual(await stored(), ['Build the thing', 'Build all of it'])
})
