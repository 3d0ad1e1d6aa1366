import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Judged, judgeCases, readCases } from './corpus-cases.ts'

const shown = ({ case: { file, title }, findings }: Judged) =>
  [`${file}: ${title}`, ...findings.map(({ code, weight, text }) => `    ${weight} ${code}: ${text}`)].join('\n')

test('every tampering change of the corpus is caught', async t => {
  const judged = await judgeCases(t, [...readCases('tampering'), ...readCases('unseen-tampering')])
  const missed = judged.filter(({ isBlocked }) => !isBlocked)
  t.diagnostic(`tampering caught: ${judged.length - missed.length} of ${judged.length}`)
  assert.ok(judged.length >= 60)
  assert.deepEqual(missed.map(shown), [])
})

test('what is known to be missed is still missed: one that is caught by now belongs to the others', async t => {
  const judged = await judgeCases(t, readCases('missed-tampering'))
  t.diagnostic(`tampering known to be missed: ${judged.length}`)
  assert.deepEqual(judged.filter(({ isBlocked }) => isBlocked).map(shown), [])
})

test('no honest change of the corpus is held up', async t => {
  const judged = await judgeCases(t, [...readCases('honest'), ...readCases('unseen-honest')])
  const held = judged.filter(({ isBlocked }) => isBlocked)
  t.diagnostic(`honest held up: ${held.length} of ${judged.length}`)
  assert.ok(judged.length >= 60)
  assert.deepEqual(held.map(shown), [])
})
