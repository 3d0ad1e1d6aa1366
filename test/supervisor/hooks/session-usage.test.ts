import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import type { HookEvent, HookVendor } from '../../../src/domain/hooks.ts'
import { openStore } from '../../../src/store/open.ts'
import { observedId, openCapture } from '../../../src/supervisor/hooks/capture.ts'
import { readSessionUsage } from '../../../src/supervisor/hooks/session-usage.ts'
import { tempDir } from '../../support/world.ts'

/** A line of each vendor's own record, as its real program writes it. */
const LINES: Record<HookVendor, (id: string) => object> = {
  claude: id => ({
    type: 'assistant',
    message: {
      ...{ id, role: 'assistant', model: 'opus' },
      usage: { input_tokens: 60, cache_creation_input_tokens: 40, cache_read_input_tokens: 9000, output_tokens: 10 },
    },
  }),
  codex: id => ({
    type: 'token_usage_record',
    payload: {
      response_id: id,
      usage: { input_tokens: 9100, cached_input_tokens: 9000, output_tokens: 10, total_tokens: 9110 },
      thread_token_usage: { input_tokens: 99_999, output_tokens: 99_999 },
    },
  }),
  gemini: id => ({ id, type: 'gemini', tokens: { input: 9100, output: 6, cached: 9000, thoughts: 4 }, model: 'pro' }),
  copilot: id => ({
    ...{ type: 'session.usage_record', id },
    data: { usage: { model: 'sonnet', inputTokens: 9100, outputTokens: 10, cacheReadTokens: 9000 } },
  }),
}

const eventOf = (vendor: HookVendor, kind: 'session_start' | 'stop', transcript: string) =>
  ({
    ...{ schema_version: 1, vendor, native: 'x', session: 's', cwd: '/p', transcript, kind },
    ...{ source: 'resume', text: '', again: false, background: 0 },
  }) as HookEvent

for (const vendor of Object.keys(LINES) as HookVendor[])
  test(`what a conversation of ${vendor} used is read from its own record, once, and not from before its first hook`, t => {
    const dir = tempDir(t)
    const record = join(dir, 'record.jsonl')
    const add = (...ids: string[]) =>
      appendFileSync(record, ids.map(id => `${JSON.stringify(LINES[vendor](id))}\n`).join(''))
    const look = (kind: 'session_start' | 'stop') => {
      const found = readSessionUsage(eventOf(vendor, kind, record), { run: dir })
      return found && [found.input_tokens, found.output_tokens]
    }
    add('old')
    assert.equal(look('session_start'), undefined)
    assert.equal(look('stop'), undefined)
    add('a', 'a', 'b')
    appendFileSync(record, '{"half a li')
    assert.deepEqual(look('stop'), [200, 20], 'an answer that is there twice counts once')
    assert.equal(look('stop'), undefined)
    appendFileSync(record, 'ne": 1}\nno JSON\n')
    add('c')
    assert.deepEqual(look('stop'), [100, 10])
    writeFileSync(record, '')
    add('d')
    assert.deepEqual(look('stop'), [100, 10], 'a record that was written anew is read from its beginning')
  })

test('a record that is missing, is no file or names absurd numbers says nothing', t => {
  const dir = tempDir(t)
  const absurd = [1e308, -1_000_000, 0.5, 10_000_001]
  const lines = absurd.map((input_tokens, id) => {
    return JSON.stringify({ type: 'assistant', message: { id: `m-${id}`, usage: { input_tokens } } })
  })
  writeFileSync(join(dir, 'absurd'), `${lines.join('\n')}\n`)
  assert.equal(readSessionUsage(eventOf('claude', 'stop', join(dir, 'absurd')), { run: dir }), undefined)
  for (const path of [join(dir, 'none'), dir, '/dev/null'])
    assert.equal(readSessionUsage(eventOf('claude', 'stop', path), { run: dir }), undefined)
})

test('what observed sessions used counts for their rows and for the estimate of every account of the vendor', async t => {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  const settings = { ...nestValues(defaultValues()).quota, max_tokens_per_hour: 1000 }
  const quota = openQuota({ store, clock: systemClock, settings: async () => settings })
  await quota.rememberAgent('acc-1', { agent: 'claude-acp', env: {} })
  await quota.rememberAgent('acc-2', { agent: 'codex', env: {} })
  const usage = { ...eventOf('claude', 'stop', ''), kind: 'usage' as const, input_tokens: 200, output_tokens: 50 }
  const capture = (id: string, at: number) =>
    store.observed.capture(
      openCapture({ run: tempDir(t) }).describe({ id, at, event: usage as HookEvent, project: '/p' }),
    )
  await capture('one', Date.now())
  await capture('one', Date.now())
  await capture('old', Date.now() - 2 * 3_600_000)
  const [row] = await store.observed.list()
  assert.deepEqual([row?.id, row?.input_tokens, row?.output_tokens], [observedId(usage), 400, 100])
  assert.deepEqual([await quota.observed('claude'), await quota.observed('codex')], [0.25, 0])
  const estimates = await Promise.all(['acc-1', 'acc-2'].map(account => quota.of(account)))
  assert.deepEqual(
    estimates.map(({ windows }) => windows.map(({ source, utilization }) => [source, utilization])),
    [[['estimate', 0.25]], [['estimate', 0]]],
  )
})
