import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Risk } from '../../../src/domain/session.ts'
import { findIdleRules, rulesFromAllowedTools } from '../../../src/policy/verdict/rules.ts'

function made(entry: string, tool: string, input: Record<string, unknown>, risk: Risk = 'MEDIUM') {
  const normalised = `${tool} what it is`
  return rulesFromAllowedTools([entry], { tool, input }, { risk, normalised, reasons: [], pieces: [] })
}
const fits = (entry: string, tool: string, input: Record<string, unknown> = {}, risk?: Risk) =>
  made(entry, tool, input, risk).length === 1

test('an entry becomes a rule for exactly the request at hand, shown as it was written', () => {
  assert.deepEqual(made('WebSearch', 'WebSearch', {}), [
    { effect: 'allow', tool: 'WebSearch', match: 'what it is', shown: '--allowed-tools WebSearch' },
  ])
  assert.deepEqual(made('WebFetch', 'WebSearch', {}), [])
  const two = rulesFromAllowedTools(
    ['Edit', 'Bash(ls)', 'Bash(ls:*)'],
    { tool: 'Bash', input: { command: 'ls' } },
    { risk: 'LOW', normalised: 'Bash ls', reasons: [], pieces: [] },
  )
  assert.deepEqual(
    two.map(rule => rule.shown),
    ['--allowed-tools Bash(ls)', '--allowed-tools Bash(ls:*)'],
  )
})

test('blanks around an entry and in its brackets do not count', () => {
  assert.ok(fits(' WebSearch ', 'WebSearch'))
  assert.ok(fits('Bash( npm test )', 'Bash', { command: ' npm test ' }))
  assert.ok(fits(' Bash (npm test) ', 'Bash', { command: 'npm test' }))
  assert.ok(fits('Bash( npm run :*)', 'Bash', { command: 'npm run x' }))
  assert.ok(fits('WebFetch(domain: Docs.Example.com )', 'WebFetch', { url: 'https://docs.EXAMPLE.com/x' }))
  assert.ok(fits('Bash(a\nb)', 'Bash', { command: 'a\nb' }))
})

test('an entry for one tool says nothing about another', () => {
  assert.ok(!fits('Bash(ls)', 'Monitor', { command: 'ls' }))
  assert.ok(!fits('Bash(ls)', 'Write', { command: 'ls' }))
  assert.ok(!fits('WebFetch(domain:a.example)', 'WebSearch', { url: 'https://a.example' }))
  assert.ok(!fits('WebSearch(domain:a.example)', 'WebSearch', { url: 'https://a.example' }))
  assert.ok(!fits('WebFetch(host:a.example)', 'WebFetch', { url: 'https://a.example' }))
  assert.ok(!fits('xBash(ls)y', 'Bash', { command: 'ls' }))
})

test('HIGH is allowed by the exact command and by nothing else', () => {
  assert.ok(fits('Bash(rm x)', 'Bash', { command: 'rm x' }, 'HIGH'))
  assert.ok(!fits('Bash(rm:*)', 'Bash', { command: 'rm x' }, 'HIGH'))
  assert.ok(!fits('Write', 'Write', {}, 'HIGH'))
  assert.ok(!fits('mcp__x', 'mcp__x__y', {}, 'HIGH'))
  assert.ok(!fits('WebFetch(domain:a.example)', 'WebFetch', { url: 'https://a.example' }, 'HIGH'))
  assert.ok(fits('WebFetch(domain:a.example)', 'WebFetch', { url: 'https://a.example' }, 'LOW'))
})

test('the beginning of a command is made of whole words', () => {
  assert.ok(fits('Bash(git:*)', 'Bash', { command: 'git' }))
  assert.ok(fits('Bash(git:*)', 'Bash', { command: 'git status' }))
  assert.ok(!fits('Bash(git:*)', 'Bash', { command: 'gitx' }))
  assert.ok(!fits('Bash(git:*)', 'Bash', { command: 'x git ' }))
  assert.ok(!fits('Bash(git:*)', 'Bash', { command: 'git a;b' }))
  assert.ok(!fits('Bash(git:*)', 'Bash', { command: ';git a' }))
  assert.ok(!fits('Bash(:*)', 'Bash', { command: ' x' }))
  assert.ok(!fits('Bash(git:*)', 'Bash', { command: ['git'] }))
})

test('a server stands for all its tools and for no other server', () => {
  assert.ok(fits('mcp__a', 'mcp__a__b'))
  assert.ok(fits('mcp__a_b', 'mcp__a_b__c'))
  assert.ok(!fits('mcp__a', 'mcp__a'.concat('x__b')))
  assert.ok(!fits('mcp__a__b', 'mcp__a__b__c'))
  assert.ok(!fits('xmcp__a', 'xmcp__a__b'))
  assert.ok(!fits('Web', 'Web__x'))
  assert.ok(fits('mcp__a__b', 'mcp__a__b'))
})

test('entries that let nothing through are named', () => {
  const idle = [
    'Bash',
    'Bash()',
    'Bash(*)',
    'Bash(:*)',
    'Read(src/**)',
    'WebFetch(host:x)',
    'Read(domain:x)',
    'WebSearch()',
  ]
  const busy = ['Bash(ls)', 'Bash(ls:*)', 'Read', 'WebFetch(domain:x)', 'mcp__x']
  assert.deepEqual(findIdleRules([...idle, ...busy]), idle)
})
