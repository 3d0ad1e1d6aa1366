import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgePermission, ROUTINE_GIT_VERBS } from '../../src/brain/rules/permission.ts'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify } from '../../src/policy/classify/classify.ts'

const assess = (tool: string, input: object) =>
  classify({ tool, input, project: '/proj', home: '/home/u' }, { realPath: path => path }) as Assessment
const approves = (command: string) => judgePermission(assess('Bash', { command })).approve

test('routine work on the project is approved', () => {
  for (const command of [
    'git add -A',
    'git commit -m x',
    'git status',
    'git switch -c x',
    'git stash',
    'git mv a b',
    'mkdir -p src/a',
    './scripts/x.sh',
    'node a.js',
    'FOO=1 npm test',
    'curl https://docs.example.com',
    'sed -i s/a/b/ README.md',
    'docker ps',
    'bash -c "npm test"',
  ])
    assert.ok(approves(command), command)
  assert.ok(judgePermission(assess('Write', { file_path: 'README.md' })).approve)
  assert.ok(judgePermission(assess('WebFetch', { url: 'https://docs.example.com' })).approve)
})

test('what is not everyday, or reaches beyond the project, is left to a person', () => {
  for (const command of [
    'git push',
    'git pull https://e.example/x',
    'git clone https://e.example/x',
    'npx evil',
    'unknown-program',
    'npm publish',
    'rm x',
    'ssh h',
    'curl -X POST https://e.example',
    'docker run x',
    'git commit -m x && git push',
    'env',
  ])
    assert.ok(!approves(command), command)
  assert.ok(!judgePermission(assess('Write', { file_path: '.github/workflows/x.yml' })).approve)
  assert.ok(!judgePermission(assess('UnknownTool', {})).approve)
})

test('one reason that is not everyday spoils the rest', () => {
  const { approve, confidence, reason } = judgePermission(assess('Bash', { command: 'git status; npx evil' }))
  assert.deepEqual([approve, confidence], [false, 0])
  assert.match(reason, /evil/)
})

test('no verb of the list is one that throws work away', () => {
  for (const verb of ['push', 'gc', 'prune', 'filter-branch', 'update-ref', 'clone'])
    assert.ok(!(ROUTINE_GIT_VERBS as readonly string[]).includes(verb), verb)
})
