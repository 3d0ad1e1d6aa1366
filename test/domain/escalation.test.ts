import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerAsk } from '../../src/domain/api.ts'

test('an answer is by a person, and nobody can give one in the name of the policy', () => {
  const by = (who?: string) => AnswerAsk.safeParse({ ask_id: 'a', verdict: 'allow', by: who }).data?.by
  assert.deepEqual([by(), by('scripted person')], ['human', 'scripted person'])
  for (const who of ['policy', 'rule', 'brain', 'precedent', 'nobody', '']) assert.equal(by(who), undefined, who)
})
