import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classify } from '../../../src/policy/classify/classify.ts'
import { decide } from '../../../src/policy/verdict/decide.ts'
import type { PolicyRule } from '../../../src/policy/verdict/rules.ts'

async function verdictOf(tool: string, command: string, rules: PolicyRule[], blocked: string[] = []): Promise<string> {
  const assessment = await classify({ tool, input: { command }, project: '/proj', home: '/home/u' })
  const settings = { autoApproveLow: true, threshold: 0.7, attached: false, unattendedHigh: 'deny' as const }
  const { verdict, by } = await decide(assessment, { tool, rules, blocked, ...settings }, new AbortController().signal)
  return `${verdict} by ${by}`
}

test('what is said about Bash counts for every tool that runs commands', async () => {
  for (const tool of ['Bash', 'Monitor']) {
    assert.equal(await verdictOf(tool, 'ls', []), 'allow by policy')
    assert.equal(await verdictOf(tool, 'ls', [{ effect: 'deny', tool: 'Bash', match: 'ls' }]), 'deny by rule')
    assert.equal(await verdictOf(tool, 'frob x', [{ effect: 'allow', tool: 'Bash', match: 'frob *' }]), 'allow by rule')
    assert.equal(await verdictOf(tool, 'rm x', [{ effect: 'allow', tool: 'Bash', match: 'rm x' }]), 'allow by rule')
    assert.equal(await verdictOf(tool, 'timeout 5 sudo ls', [], ['sudo']), 'deny by rule')
  }
  assert.equal(await verdictOf('Monitor', 'ls', [{ effect: 'deny', tool: 'Monitor' }]), 'deny by rule')
  assert.equal(await verdictOf('Bash', 'ls', [{ effect: 'deny', tool: 'Monitor' }]), 'allow by policy')
})
