import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyShelf } from '../../../src/daemon/policy-shelf.ts'
import { readOnlyAsks } from '../../../src/supervisor/proposals/read-only.ts'
import { tempDir } from '../../support/world.ts'

test('a reading agent may read the project, and nothing that a session would be asked about or could change', async t => {
  using policy = policyShelf()
  const project = tempDir(t, 'pcc-project-')
  const asks = readOnlyAsks(
    {
      ...{ project, home: '/home/somebody', safeDirectories: [], blocked: [], allowedTools: ['Bash', 'Write'] },
      rules: async () => [
        { effect: 'allow', tool: 'Bash' },
        { effect: 'allow', tool: 'Write' },
      ],
      ...{ autoApproveLow: true, threshold: 0, unattendedHigh: 'wait' },
    },
    question => policy.classify(question),
  )
  const verdictOn = async (tool: string, input: Record<string, unknown>) => {
    const reply = await asks.permission({ callId: 'c', tool, input, cwd: project }, new AbortController().signal)
    return 'verdict' in reply ? reply.verdict : 'park'
  }
  assert.equal(await verdictOn('Read', { file_path: `${project}/README.md` }), 'allow')
  assert.equal(await verdictOn('Grep', { pattern: 'TODO', path: project }), 'allow')
  assert.equal(await verdictOn('Glob', { pattern: '**/*.ts' }), 'allow')
  assert.equal(await verdictOn('Read', { file_path: '/home/somebody/.ssh/id_rsa' }), 'deny')
  for (const [tool, input] of [
    ['Write', { file_path: `${project}/a`, content: '' }],
    ['Edit', { file_path: `${project}/a`, old_string: 'a', new_string: 'b' }],
    ['Bash', { command: 'ls' }],
    ['Agent', { prompt: 'write it' }],
    ['WebFetch', { url: 'https://example.invalid' }],
    ['mcp__files__write', {}],
  ] as const) {
    assert.equal(await verdictOn(tool, input), 'deny', tool)
  }
  const questions = [{ question: 'Which?', header: '', multiSelect: false, options: [] }]
  assert.ok('declined' in (await asks.question({ callId: 'q', questions }, new AbortController().signal)))
})
