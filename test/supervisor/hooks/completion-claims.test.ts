import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readCompletionClaim } from '../../../src/supervisor/hooks/completion-claims.ts'
import { readEndings } from '../../brain/measure-endings.ts'

const ROWS = readFileSync(new URL('completion-claims.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as { text: string; claims: boolean })

test('a look-alike is no claim: questions, denials, plans, parts, quotations and reports', () => {
  const others = ROWS.filter(({ claims }) => !claims)
  assert.ok(others.length >= 100)
  const wrong = others.filter(({ text }) => readCompletionClaim(text)).map(({ text }) => text)
  assert.deepEqual(wrong, [])
})

test('an agent that says in English or Japanese that its work is done claims so', () => {
  const claims = ROWS.filter(({ claims: isClaim }) => isClaim)
  assert.ok(claims.length >= 35)
  const missed = claims.filter(({ text }) => !readCompletionClaim(text)).map(({ text }) => text)
  assert.deepEqual(missed, [])
})

test('no labelled question with which an agent ends its turn is a claim', () => {
  const questions = readEndings().filter(({ kind }) => kind !== null)
  const wrong = questions.filter(({ text }) => readCompletionClaim(text)).map(({ text }) => text)
  assert.deepEqual(wrong, [])
})

test('a marker counts before words, and the sigil of a task only for that task', () => {
  assert.deepEqual(readCompletionClaim('Done.\n\nTASK COMPLETE'), { by: 'marker', quote: 'TASK COMPLETE' })
  assert.deepEqual(readCompletionClaim('Done.'), { by: 'words', quote: 'Done.' })
  const sigil = '<task-done>t-aaaaaa</task-done>'
  assert.equal(readCompletionClaim(sigil, { task: 't-aaaaaa' })?.by, 'marker')
  assert.equal(readCompletionClaim(sigil, { task: 't-bbbbbb' }), undefined)
  assert.equal(readCompletionClaim(sigil), undefined)
})

test('a megabyte of text is read in a moment', () => {
  const began = performance.now()
  readCompletionClaim(`${'a "b '.repeat(200_000)}\n${'*_`'.repeat(100_000)}\nDone.`)
  readCompletionClaim('完了'.repeat(500_000))
  assert.ok(performance.now() - began < 1_000)
})
