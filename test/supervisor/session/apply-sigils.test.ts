import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applySigils } from '../../../src/supervisor/session/apply-sigils.ts'
import { readSigils } from '../../../src/supervisor/session/read-sigils.ts'

const TASK = 't-3fa91c'
const apply = (text: string, open = 0) => applySigils(readSigils(text, { task: TASK }), { open })

test('a turn without sigils claims nothing', () => {
  assert.deepEqual(apply('All done.'), {
    claim: undefined,
    reason: undefined,
    gaveUp: false,
    nextModel: undefined,
    ignored: [],
  })
})

test('the model that was asked for last counts', () => {
  assert.equal(apply('<next-model>opus</next-model>\n<next-model>haiku</next-model>').nextModel, 'haiku')
})

test('an agent that says both done and failed has failed', () => {
  const applied = apply(`<task-done>${TASK}</task-done>\n<task-failed>${TASK}: half of it</task-failed>`)
  assert.deepEqual([applied.claim, applied.reason, applied.gaveUp], ['failed', 'half of it', false])
})

test('a promise that everything is complete is ignored while tasks are open, and reported', () => {
  const early = apply('<promise>COMPLETE</promise>', 3)
  assert.deepEqual(early.ignored, [{ text: '<promise>COMPLETE</promise>', why: '3 tasks are still open' }])
  assert.equal(early.claim, undefined)
  const late = apply('<promise>COMPLETE</promise>')
  assert.deepEqual([late.ignored, late.claim], [[], 'done'])
})

test('FAILURE fails the task and gives up everything, with its reason', () => {
  const applied = apply('<promise>FAILURE: the repository is empty</promise>')
  assert.deepEqual([applied.claim, applied.gaveUp, applied.reason], ['failed', true, 'the repository is empty'])
  assert.equal(apply('<promise>FAILURE</promise>').reason, undefined)
})
