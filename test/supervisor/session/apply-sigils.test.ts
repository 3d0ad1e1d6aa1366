import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applySigils } from '../../../src/supervisor/session/apply-sigils.ts'
import { readSigils } from '../../../src/supervisor/session/read-sigils.ts'

const TASK = 't-3fa91c'
const heed = (text: string, open = 0) => applySigils(readSigils(text, { task: TASK }), { open })

test('a turn without sigils claims nothing', () => {
  assert.deepEqual(heed('All done.'), {
    claim: undefined,
    reason: undefined,
    gaveUp: false,
    nextModel: undefined,
    ignored: [],
  })
})

test('the last model that was asked for counts', () => {
  assert.equal(heed('<next-model>opus</next-model>\n<next-model>haiku</next-model>').nextModel, 'haiku')
})

test('who says both done and failed has failed', () => {
  const said = heed(`<task-done>${TASK}</task-done>\n<task-failed>${TASK}: half of it</task-failed>`)
  assert.deepEqual([said.claim, said.reason, said.gaveUp], ['failed', 'half of it', false])
})

test('a promise that all is complete is passed over while tasks are open, and told', () => {
  const early = heed('<promise>COMPLETE</promise>', 3)
  assert.deepEqual(early.ignored, [{ text: '<promise>COMPLETE</promise>', why: '3 tasks are still open' }])
  assert.equal(early.claim, undefined)
  const late = heed('<promise>COMPLETE</promise>')
  assert.deepEqual([late.ignored, late.claim], [[], 'done'])
})

test('FAILURE fails the task and gives up the whole, with its reason', () => {
  const said = heed('<promise>FAILURE: the repository is empty</promise>')
  assert.deepEqual([said.claim, said.gaveUp, said.reason], ['failed', true, 'the repository is empty'])
  assert.equal(heed('<promise>FAILURE</promise>').reason, undefined)
})
