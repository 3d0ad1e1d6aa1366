import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { judgePermission } from '../../../src/brain/rules/permission.ts'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { leaveToSandbox } from '../../../src/policy/verdict/sandbox.ts'

// Commands that once passed without a person: each wrote outside of the project or into its guard, ran foreign code, read a
// secret, published or destroyed. A MEDIUM risk is not enough here, because the rule brain may allow it.
const commands = readFileSync(join(import.meta.dirname, 'never-allowed.jsonl'), 'utf8')
  .split('\n')
  .filter(line => line !== '')
  .map(line => (JSON.parse(line) as { command: string }).command)

test('what once got past the policy and the brain does not again, nor from inside of a sandbox', () => {
  using classifier = openClassifier({ realPath: path => path })
  const passed = commands.filter(command => {
    const question = { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }
    const assessment = classifier.classify(question) as Assessment
    const inSandbox = leaveToSandbox(assessment)
    return [assessment, inSandbox].some(
      ({ risk, reasons }) => risk !== 'HIGH' && judgePermission({ risk, reasons }).approve,
    )
  })
  assert.ok(commands.length > 250, `${commands.length} commands`)
  assert.deepEqual(passed, [])
})

test('a call that asks to leave the sandbox is a question, whatever it runs', () => {
  using classifier = openClassifier({ realPath: path => path })
  const asked = (off: unknown) =>
    classifier.classify({
      tool: 'Bash',
      input: { command: 'npm test', dangerouslyDisableSandbox: off },
      project: '/proj',
      home: '/home/u',
    }) as Assessment
  for (const off of [true, 'true', 1, {}]) {
    const assessment = asked(off)
    assert.deepEqual([assessment.risk, judgePermission(assessment).approve], ['MEDIUM', false], JSON.stringify(off))
  }
  assert.equal(asked(false).risk, 'LOW')
})
