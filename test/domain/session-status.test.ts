import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SessionState, type StatusFacts, statusOf } from '../../src/domain/api.ts'
import { ENDED_AS } from '../../src/domain/session-end.ts'

const BOOT = 'boot-now'

function row(facts: Partial<StatusFacts>): StatusFacts {
  return {
    id: 's-000001',
    state: 'running',
    ended_as: null,
    status_reason: null,
    owner: BOOT,
    ...facts,
  }
}

test('a live session of this boot shows what it is doing, with its reason', () => {
  const shown = (['starting', 'running', 'asking'] as const).map(state => statusOf(row({ state }), BOOT).status)
  assert.deepEqual(shown, ['idle', 'processing', 'waiting_input'])
  assert.deepEqual(statusOf(row({ state: 'asking', status_reason: 'asks about the port' }), BOOT), {
    status: 'waiting_input',
    reason: 'asks about the port',
  })
})

test('an ended session shows how it ended, whoever ran it', () => {
  for (const ended_as of ENDED_AS) {
    for (const owner of [BOOT, 'boot-before', null]) {
      assert.deepEqual(statusOf(row({ state: 'ended', ended_as, owner, status_reason: 'why' }), BOOT), {
        status: ended_as,
        reason: 'why',
      })
    }
  }
})

test('an ended session without an outcome is never shown as a success', () => {
  assert.equal(statusOf(row({ state: 'ended' }), BOOT).status, 'error')
})

test('a live session of another boot is shown as interrupted, with the command to resume it', () => {
  const states: SessionState[] = ['starting', 'running', 'asking']
  for (const state of states) {
    for (const owner of ['boot-before', null]) {
      assert.deepEqual(statusOf(row({ state, owner, status_reason: 'stale' }), BOOT), {
        status: 'error',
        reason: 'interrupted; go on with: pcc resume s-000001',
      })
    }
  }
})
