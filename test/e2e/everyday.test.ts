import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../daemon/agent-sessions.ts'
import { viewWhen } from '../daemon/daemon-process.ts'
import { gitProject } from '../support/world.ts'

type Call = Record<string, Record<string, unknown>>

const CALLS = readFileSync(new URL('./everyday-calls.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line) as Call)

const FILES = {
  'README.md': '# sample\n\nAdds numbers.\n',
  'package.json': `${JSON.stringify({ name: 'sample', version: '1.0.0', type: 'module', scripts: { test: 'node --test', lint: 'node --check src/math.js', build: 'node --check src/math.js' } }, null, 2)}\n`,
  'src/math.js': 'export function sum(a, b) {\n  return a + b\n}\n',
  'test/math.test.js':
    "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { sum } from '../src/math.js'\n\ntest('sum', () => assert.equal(sum(1, 2), 3))\n",
  'tests/test_sum.py':
    'import unittest\n\nclass Sum(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 2, 3)\n',
  'scripts/check.sh': '#!/bin/sh\nnode --check src/math.js\n',
  Makefile: 'test:\n\tnode --test\n',
}

/** One call a turn, in order: later ones need what earlier ones did. JSON is YAML. */
const SCENARIO = JSON.stringify({
  conversations: [
    {
      name: 'subagent',
      match: 'Count the sums in the source',
      turns: [
        { tools: [{ Bash: { command: 'grep -c sum src/math.js', description: 'Count' } }] },
        { text: 'One sum.' },
      ],
    },
    {
      name: 'work',
      match: 'An ordinary day',
      turns: [...CALLS.map(call => ({ tools: [call] })), { text: 'Finished.' }],
    },
  ],
})

test('a hundred everyday calls pass with nobody there and default settings', async t => {
  assert.equal(CALLS.length, 100)
  const project = gitProject(t, FILES)
  for (const [key, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.invalid'],
  ] as const)
    execFileSync('git', ['config', key, value], { cwd: project })
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('An ordinary day', { project })
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed' || status === 'error')
  const events = await world.log(id)
  const decided = bodiesOf(events, 'permission.decided')
  const stopped = decided.filter(({ verdict }) => verdict !== 'allow')
  const by = Object.groupBy(decided, body => body.by)
  const counts = Object.entries(by).map(([who, all]) => `${all?.length} by ${who}`)
  t.diagnostic(`${decided.length} calls decided (${counts.join(', ')}), ${stopped.length} stopped`)
  assert.deepEqual(
    stopped.map(({ tool, target, risk, reason }) => `${tool} ${target}: ${risk} ${reason}`),
    [],
  )
  const judged = new Set(decided.map(({ call_id }) => call_id))
  const unjudged = bodiesOf(events, 'tool.requested').filter(({ call_id }) => !judged.has(call_id))
  assert.deepEqual(
    unjudged.map(({ tool, target }) => `${tool} ${target}`),
    [],
  )
  assert.equal(view.status, 'completed', view.reason ?? '')
  // Those of the list and the one of the subagent.
  assert.equal(decided.length, 101)
  assert.ok(decided.some(({ agent_id }) => agent_id !== undefined))
})
