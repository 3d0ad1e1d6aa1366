import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { classify } from '../../../src/policy/classify/classify.ts'
import { describeRule, findRule, type PolicyRule, runsCommands } from '../../../src/policy/verdict/rules.ts'

const assess = (tool: string, input: object) =>
  classify({ tool, input, project: '/proj', home: '/home/u' }, { realPath: path => path }) as Assessment
const found = (tool: string, input: object, ...rules: PolicyRule[]) => findRule(tool, assess(tool, input), rules)
const is = (effect: PolicyRule['effect'], tool: string, match?: string): PolicyRule =>
  match === undefined ? { effect, tool } : { effect, tool, match }

test('of several rules the last that fits counts, and any deny before it', () => {
  const [allow, ask, deny] = [is('allow', 'WebSearch'), is('ask', 'WebSearch'), is('deny', 'WebSearch')]
  const by = (...rules: PolicyRule[]) => found('WebSearch', {}, ...rules)
  assert.equal(by(allow, ask), ask)
  assert.equal(by(ask, allow), allow)
  assert.equal(by(deny, allow, ask), deny)
  assert.equal(by(is('deny', 'Bash'), allow), allow)
  assert.equal(by(is('deny', 'Bash')), undefined)
  const first = is('deny', '*')
  assert.equal(by(first, deny, allow), deny, 'of two denies the last is named')
  assert.equal(by(), undefined)
})

test('a tool is named whole or with a star, other signs are letters', () => {
  const fits = (tool: string, called: string) => found(called, {}, is('ask', tool)) !== undefined
  assert.ok(fits('mcp__gh__*', 'mcp__gh__list'))
  assert.ok(fits('*', 'Frob'))
  assert.ok(!fits('mcp__gh__*', 'mcp__ghx__list'))
  assert.ok(!fits('Web', 'WebSearch'))
  assert.ok(!fits('WebSearc?', 'WebSearch'))
  assert.ok(!fits('WebSearc[h]', 'WebSearch'))
  assert.ok(fits('a?', 'a?'))
})

test('for tools that run no command the words are the path or the address, a star stands for anything', () => {
  const fits = (match: string, path: string) =>
    found('Write', { file_path: path }, is('ask', 'Write', match)) !== undefined
  assert.ok(fits('./docs/*', 'docs/a/b.md'))
  assert.ok(fits('./docs/a.md', '/proj/docs/x/../a.md'))
  assert.ok(fits('/etc/*', '/etc/passwd'))
  assert.ok(!fits('docs/*', 'docs/a.md'))
  assert.ok(!fits('./docs/?.md', 'docs/a.md'))
  assert.ok(!fits('*.md', 'docs/a.ts'))
  assert.ok(found('WebSearch', {}, is('ask', 'WebSearch', '')))
  assert.ok(!found('WebSearch', {}, is('ask', 'WebSearch', 'x')))
})

test('an allow opens a HIGH request only when it is exactly that request, without a star', () => {
  const opens = (match: string | undefined, command: string) =>
    found('Bash', { command }, is('allow', 'Bash', match))?.effect === 'allow'
  assert.ok(opens('rm a', 'rm a'))
  assert.ok(opens('rm a', 'rm   a'))
  assert.ok(!opens('rm *', 'rm a'))
  assert.ok(!opens('rm *', 'rm *'), 'a star of the shell in the request does not make it exact')
  assert.ok(!opens(undefined, 'rm a'))
  assert.ok(!opens('rm a', 'rm a b'))
  assert.ok(!opens('rm', 'rm a'))
  const writes = (match: string) => found('Write', { file_path: '/etc/x' }, is('allow', 'Write', match))?.effect
  assert.equal(writes('/etc/x'), 'allow')
  assert.equal(writes('/etc/*'), undefined)
  assert.equal(writes('/etc/y'), undefined)
})

test('an ask or a deny is about HIGH requests as about others', () => {
  assert.equal(found('Bash', { command: 'rm a b' }, is('deny', 'Bash', 'rm'))?.effect, 'deny')
  assert.equal(found('Bash', { command: 'rm a b' }, is('ask', 'Bash'))?.effect, 'ask')
  assert.equal(found('Write', { file_path: '/etc/x' }, is('ask', 'Write', '/etc/*'))?.effect, 'ask')
})

test('words that are no command are compared as they are', () => {
  const fits = (match: string, command: string) => found('Bash', { command }, is('deny', 'Bash', match)) !== undefined
  assert.ok(fits('frob a && frob b', 'frob a && frob b'))
  assert.ok(!fits('frob a && frob b', 'frob a'))
  assert.ok(!fits('frob a && frob b', 'frob a && frob b && frob c'))
})

test('a rule is shown as it would be written, or as it says it is', () => {
  assert.equal(describeRule(is('allow', 'Bash', 'npm run *')), 'allow Bash npm run *')
  assert.equal(describeRule(is('deny', 'WebFetch')), 'deny WebFetch')
  assert.equal(
    describeRule({ ...is('allow', 'Bash', 'x'), shown: '--allowed-tools Bash(x)' }),
    '--allowed-tools Bash(x)',
  )
})

test('two tools run commands', () => {
  assert.deepEqual(['Bash', 'Monitor', 'bash', 'Write', ''].map(runsCommands), [true, true, false, false, false])
})
