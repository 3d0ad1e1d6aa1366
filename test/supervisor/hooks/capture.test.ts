import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { Captured, type CapturedRow } from '../../../src/domain/hook-capture.ts'
import type { HookEvent } from '../../../src/domain/hooks.ts'
import type { Decision } from '../../../src/policy/verdict/decide.ts'
import { openCapture, openCaptureQueue } from '../../../src/supervisor/hooks/capture.ts'
import { tempDir } from '../../support/world.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('each file of a patch is recorded, with the hash from before, although each hook is a process of its own', t => {
  const [run, project] = [tempDir(t), tempDir(t)]
  writeFileSync(join(project, 'a'), 'one\n')
  const command = '*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n+three\n*** Add File: b\n+new\n*** End Patch'
  const base = { session_id: 's', cwd: project, tool_name: 'apply_patch', tool_input: { command }, tool_use_id: 'c-1' }
  const see = (native: string, more: { decision?: Decision } = {}) => {
    const event = hookTranslator('codex').read(native, { ...base, tool_response: 'Success.' }, project) as HookEvent
    const rows = openCapture({ run }).describe({ id: native, at: 1, event, project, ...more })
    return rows.map(({ body }) => Captured.parse(body))
  }
  const files = () =>
    see('PostToolUse').flatMap(body => {
      if (body.type === 'file_write') return [[body.file_path, body.content_size]]
      return body.type === 'file_edit' ? [[body.file_path, body.old_hash, body.new_hash, body.lines_changed]] : []
    })
  const start = see('PreToolUse')[0]
  assert.ok(start?.type === 'tool_use_start' && /three/.test(start.parameters))
  writeFileSync(join(project, 'a'), 'two\nthree\n')
  const after = sha256('two\nthree\n')
  assert.deepEqual(files(), [
    ['a', sha256('one\n'), after, 2],
    ['b', 4],
  ])
  assert.deepEqual(files()[0], ['a', null, after, 2], 'the hash counts for one call')
  see('PreToolUse', {
    decision: { verdict: 'deny', risk: 'HIGH', reason: 'no', confidence: 1, by: 'policy' } as Decision,
  })
  assert.deepEqual(files()[0], ['a', null, after, 2], 'a call that was refused changed nothing')
})

test('a command is recorded with its two streams, and how long it took where the vendor does not say', t => {
  const run = tempDir(t)
  const see = (vendor: 'claude' | 'codex', native: string, at: number, more: object = {}) => {
    const given = { session_id: 's', cwd: '/p', tool_name: 'Bash', tool_input: { command: 'ls' }, ...more }
    const event = hookTranslator(vendor).read(native, given, '/p') as HookEvent
    const rows = openCapture({ run }).describe({ id: native, at, event, project: '/p' })
    return rows.map(({ body }) => Captured.parse(body)).find(({ type }) => type === 'bash_output')
  }
  const measured = (began: number, ended: number) => {
    see('codex', 'PreToolUse', began)
    const output = see('codex', 'PostToolUse', ended, { tool_response: 'a\n' })
    return output?.type === 'bash_output' && [output.schema_version, output.stdout, output.stderr, output.duration_ms]
  }
  assert.deepEqual(measured(5_000, 5_750), [1, 'a\n', '', 750])
  assert.deepEqual(measured(5_000, 4_000), [1, 'a\n', '', null], 'a clock that was set back')
  assert.deepEqual(measured(0, 2 * 86_400_000), [1, 'a\n', '', null], 'or forward')
  see('claude', 'PreToolUse', 1)
  const response = { tool_response: { stdout: 'out', stderr: 'err' }, duration_ms: 7 }
  const claude = see('claude', 'PostToolUse', 100, response)
  assert.ok(claude?.type === 'bash_output')
  assert.deepEqual([claude.stdout, claude.stderr, claude.duration_ms], ['out', 'err', 7])
})

test('no text is stored whole, whatever a vendor or a script sends', t => {
  const long = 'x'.repeat(100_000)
  const call = {
    schema_version: 1,
    vendor: 'claude',
    native: 'PreToolUse',
    session: 's',
    cwd: '/p',
    kind: 'tool_before',
  }
  const event = { ...call, tool: long, input: { command: long, file_path: long } } as unknown as HookEvent
  const [row] = openCapture({ run: tempDir(t) }).describe({ id: 'i', at: 1, event, project: '/p' })
  assert.ok(Captured.safeParse(row?.body).success)
  assert.ok(JSON.stringify(row).length < 20_000)
  const base = { session_id: long, cwd: '/p', tool_name: 'Bash', tool_input: { command: 'ls' } }
  assert.equal(hookTranslator('claude').read('PreToolUse', base), undefined, 'an id as long is no id')
})

test('what a conversation does after a prompt that names a task carries the task, although each hook is a process of its own', t => {
  const run = tempDir(t)
  const see = (session: string, more: object) => {
    const event = { schema_version: 1, vendor: 'claude', native: 'x', session, cwd: '/p', ...more } as HookEvent
    const rows = openCapture({ run }).describe({ id: 'i', at: 1, event, project: '/p' })
    return rows.map(({ body }) => Captured.parse(body).named_task)
  }
  assert.deepEqual(see('a', { kind: 'prompt', text: 'hello' }), [undefined])
  assert.deepEqual(see('a', { kind: 'prompt', text: 'Do t-0a1b2c now' }), ['t-0a1b2c'])
  const start = { kind: 'session_end', reason: 'other' }
  assert.deepEqual([...see('a', start), ...see('b', start)], ['t-0a1b2c', undefined])
  assert.deepEqual(see('a', { kind: 'prompt', text: 'Then t-ffffff' }), ['t-ffffff'])
  assert.deepEqual(see('a', start), ['t-ffffff'])
})

test('hooks that come at once share a commit of at most 50 rows, and each is answered after its own, or without a store that fails or is slow', async () => {
  const commits: { rows: CapturedRow[]; done: PromiseWithResolvers<void> }[] = []
  const kept: number[] = []
  const store = (rows: CapturedRow[]) => {
    const done = Promise.withResolvers<void>()
    commits.push({ rows, done })
    return done.promise
  }
  const instead = (rows: CapturedRow[]) => void kept.push(...rows.map(({ at }) => at))
  const record = openCaptureQueue(store, { instead, withinMs: 60_000 })
  const answered: number[] = []
  const hooks = Array.from({ length: 60 }, async (_, at) => {
    await record([{ at } as CapturedRow])
    answered.push(at)
  })
  await new Promise(setImmediate)
  assert.deepEqual(
    commits.map(({ rows }) => rows.length),
    [50, 10],
  )
  assert.deepEqual(answered, [])
  commits[1]?.done.resolve()
  await hooks[59]
  assert.deepEqual([answered, kept], [[50, 51, 52, 53, 54, 55, 56, 57, 58, 59], []])
  commits[0]?.done.reject(new Error('disk full'))
  await Promise.all(hooks)
  assert.equal(kept.length, 50, 'what the store refused is kept')
  await openCaptureQueue(store, { instead, withinMs: 1 })([{ at: 99 } as CapturedRow])
  assert.equal(kept.at(-1), 99, 'and what it has not taken in time')
})
