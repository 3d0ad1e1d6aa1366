import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../src/domain/assessment.ts'
import type { Risk } from '../../src/domain/session.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { findIdleRules, findRule, type PolicyRule, rulesFromAllowedTools } from '../../src/policy/verdict/rules.ts'

/** Whether the entry allows the call when it is among the rules; the risk is the engine's unless one is given. */
function allows(entry: string, tool: string, input: Record<string, unknown>, risk?: Risk): boolean {
  return decidedBy([], entry, tool, input, risk)?.effect === 'allow'
}

function decidedBy(
  before: PolicyRule[],
  ...[entry, tool, input, risk]: [string, string, Record<string, unknown>, Risk?]
): PolicyRule | undefined {
  const question = { tool, input, project: '/proj', home: '/home/u' }
  const found = classify(question, { realPath: path => path }) as Assessment
  const reasons = risk ? [{ code: 'test', risk, text: 'as the test says' }] : found.reasons
  const assessment = { ...found, risk: risk ?? found.risk, reasons }
  return findRule(tool, assessment, [...before, ...rulesFromAllowedTools([entry], { tool, input }, assessment)])
}
const runs = (rule: string, command: unknown, risk?: Risk) => allows(rule, 'Bash', { command }, risk)

test('an exact command is allowed as it was written, whatever its risk, and nothing else', () => {
  assert.equal(runs('Bash(npm test)', 'npm test'), true)
  assert.equal(runs('Bash(rm -rf dist)', 'rm -rf dist', 'HIGH'), true)
  for (const command of ['npm test && rm x', 'npm test2', 'npm', 'npm  test', '', undefined])
    assert.equal(runs('Bash(npm test)', command), false, String(command))
})

test('a beginning allows plain words after it and nothing a shell would make more of', () => {
  assert.equal(runs('Bash(npm run:*)', 'npm run build'), true)
  assert.equal(runs('Bash(npm run:*)', 'npm run'), true)
  const more = ['npm runx', 'npm run a; rm b', 'npm run a && b', 'npm run $(b)', 'npm run `b`', 'npm run a > b']
  for (const command of [...more, 'npm run a\nrm b', 'npm run a | b', 'npm run "a"', 'npm run a &', 'x npm run a'])
    assert.equal(runs('Bash(npm run:*)', command), false, command)
  assert.equal(runs('Bash(git:*)', 'git push origin main', 'HIGH'), false)
})

test('Bash alone, or for everything, is no rule', () => {
  for (const rule of ['Bash', 'Bash()', 'Bash(*)', 'Bash(:*)']) {
    assert.equal(runs(rule, 'ls'), false, rule)
    assert.deepEqual(findIdleRules([rule, 'Bash(ls)']), [rule])
  }
})

test('another tool by its name, its server or its host, but never at HIGH risk', () => {
  assert.equal(allows('WebSearch', 'WebSearch', { query: 'x' }), true)
  assert.equal(allows('WebSearch', 'WebSearch', { query: 'x' }, 'HIGH'), false)
  assert.equal(allows('mcp__github', 'mcp__github__list', {}), true)
  assert.equal(allows('mcp__git', 'mcp__github__list', {}), false)
  assert.equal(allows('mcp__github__list', 'mcp__github__delete', {}), false)
  const fetches = (url: unknown) => allows('WebFetch(domain:docs.example.com)', 'WebFetch', { url })
  assert.equal(fetches('https://docs.example.com/a'), true)
  for (const url of ['https://example.com', 'https://docs.example.com.evil.org', 'docs.example.com', 7])
    assert.equal(fetches(url), false, String(url))
})

test('rules in a form that is not understood let nothing through and are named', () => {
  assert.deepEqual(findIdleRules(['Read(src/**)', 'WebFetch(domain:a.b)', 'Edit']), ['Read(src/**)'])
  assert.equal(allows('Write(/**)', 'Write', { file_path: '/etc/passwd' }, 'HIGH'), false)
})

test('a rule that denies or that was written as exact text keeps its place beside them', () => {
  const deny: PolicyRule = { effect: 'deny', tool: 'Bash', match: 'npm test' }
  const ask: PolicyRule = { effect: 'ask', tool: 'Bash' }
  const decided = (before: PolicyRule[]) => decidedBy(before, 'Bash(npm test)', 'Bash', { command: 'npm test' })?.effect
  assert.equal(decided([deny]), 'deny')
  assert.equal(decided([ask]), 'allow')
})
