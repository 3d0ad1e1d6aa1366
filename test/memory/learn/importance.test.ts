import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NewRecord, newRecord } from '../../../src/domain/memory.ts'
import { importanceAtIngest, isNovel, recalibrate, summarise, tierOf } from '../../../src/memory/learn/importance.ts'
import { DAY_MS, item, NOW } from './items.ts'

const record = (fields: object) =>
  newRecord({ scope: 'project', of: 'p', actor: 'daemon', authority: 'gate', time: NOW, ...fields } as NewRecord)

test('what is new or fails after it worked is more important than what is seen once more', () => {
  const seen = (outcome: string) =>
    record({ kind: 'procedure', event_type: 'command', trigger: { kind: 'failure', text: 'x' }, action: 'y', outcome })
  const again = importanceAtIngest(item(), seen('success'))
  assert.ok(importanceAtIngest(undefined, seen('success')) > again)
  assert.ok(importanceAtIngest(item(), seen('failure')) > again)
  const episode = (is_novel: boolean) =>
    record({
      kind: 'episode',
      event_type: 'x',
      tool: null,
      inputs_hash: '',
      context: 'c',
      decision: '',
      action: '',
      fix: null,
      rationale: '',
      is_novel,
    })
  assert.ok(importanceAtIngest(undefined, episode(true)) > importanceAtIngest(undefined, episode(false)))
  assert.ok(isNovel('the disk is full', [{ text: 'npm t fails here' }]))
  assert.ok(!isNovel('npm t fails here again', [{ text: 'npm t fails here' }]))
})

test('use with success raises importance; failure, conflict and age lower it; what a person said stays', () => {
  const at = (fields: object, use?: { shown: number; succeeded: number }) =>
    recalibrate(item(fields), { now: NOW, policy: {}, use }).importance
  const plain = at({})
  assert.ok(at({}, { shown: 9, succeeded: 9 }) > plain)
  assert.ok(at({}, { shown: 9, succeeded: 0 }) < plain)
  assert.ok(at({ alpha: 0.5, beta: 4 }) < plain)
  assert.ok(at({ conflicts: 6 }) < plain)
  assert.ok(at({ created_at: NOW - 900 * DAY_MS }) < plain)
  assert.ok(at({ alpha: 0.5, beta: 4, authority: 'person' }) >= 0.6)
})

test('an item cools down when nobody needs it, an important one later, and one that has ended at once', () => {
  const after = (days: number, fields: object = {}) => tierOf(item({ importance: 0.2, ...fields }), NOW + days * DAY_MS)
  assert.deepEqual([after(1), after(20), after(200)], ['hot', 'warm', 'cold'])
  assert.equal(after(20, { importance: 1 }), 'hot')
  assert.equal(after(20, { last_used_at: NOW + 19 * DAY_MS }), 'hot')
  assert.equal(after(1, { ended_at: NOW }), 'cold')
})

test('a summary consists of sentences that were there, without repetitions, in their order', () => {
  const texts = [
    'The build needs Node 24. It fails with Node 20.',
    'The build needs Node 24! Lunch was late.',
    'With Node 20 the build stops.',
  ]
  const summary = summarise(
    texts.map(text => ({ text })),
    60,
  )
  assert.equal(summary, 'The build needs Node 24. With Node 20 the build stops.')
  assert.equal(summarise([{ text: 'x'.repeat(900) }]), '')
})
