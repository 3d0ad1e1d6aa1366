import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Rollout } from '../../../src/agents/codex/conversation.ts'
import { wantsUnsandboxed } from '../../../src/agents/codex/translator.ts'
import { tempDir } from '../../support/world.ts'

const NEVER = new AbortController().signal

function written(call_id: string, input: object): string {
  const payload = { type: 'function_call', name: 'exec_command', call_id, arguments: JSON.stringify(input) }
  return `${JSON.stringify({ type: 'response_item', payload })}\n`
}

test("whether a call of a resumed conversation wants to leave the sandbox stands in Codex's own record, also when it is written late", async t => {
  const path = join(tempDir(t), 'rollout.jsonl')
  writeFileSync(path, written('old', { cmd: 'ls' }))
  const rollout = new Rollout(path)
  const late = rollout.isUnsandboxed('c1', NEVER)
  appendFileSync(path, `${JSON.stringify({ type: 'event_msg' })}\n${written('c1', { cmd: 'ls' })}`)
  assert.equal(await late, false)
  appendFileSync(path, written('c2', { cmd: 'ls', sandbox_permissions: 'require_escalated' }))
  assert.equal(await rollout.isUnsandboxed('c2', NEVER), true)
})

test('a call of which nothing is written counts as one that wants to leave, and so does every call without a record', async t => {
  const path = join(tempDir(t), 'rollout.jsonl')
  writeFileSync(path, '')
  assert.equal(await new Rollout(path).isUnsandboxed('c1', NEVER, 50), true)
  assert.equal(await new Rollout('').isUnsandboxed('c1', NEVER, 50), true)
  assert.equal(await new Rollout(path).isUnsandboxed('c1', AbortSignal.abort()), true)
})

test('what a call says of the sandbox is read as Codex reads it, however it is written', () => {
  assert.equal(wantsUnsandboxed('{"cmd":"echo require_escalated"}'), false)
  assert.equal(wantsUnsandboxed('{"cmd":"ls","sandbox_permissions":"use_default"}'), false)
  assert.equal(wantsUnsandboxed('{"cmd":"ls","sandbox_permissions":"require\\u005fescalated"}'), true)
  assert.equal(wantsUnsandboxed('{"cmd":"ls","sandbox_permissions":"with_additional_permissions"}'), true)
  assert.equal(wantsUnsandboxed('{"cmd":'), true)
})
