import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openQuota } from '../../../src/agents/limits/quota.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { observedText } from '../../../src/cli/commands/report-format.ts'
import { observedLines } from '../../../src/cli/render/list-table.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import type { ObservedView } from '../../../src/domain/hook-capture.ts'
import type { HookEvent, HookVendor } from '../../../src/domain/hooks.ts'
import { openStore } from '../../../src/store/open.ts'
import { observedId, openCapture } from '../../../src/supervisor/hooks/capture.ts'
import { isContextFull, readSessionUsage } from '../../../src/supervisor/hooks/session-usage.ts'
import { countObserved } from '../../../src/supervisor/report/counts.ts'
import { tempDir } from '../../support/world.ts'

/** A line of each vendor's own record, as its real program writes it. */
const LINES: Record<HookVendor, (id: string) => object> = {
  claude: id => ({
    type: 'assistant',
    message: {
      ...{ id, role: 'assistant', model: 'claude-opus-4-6' },
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
  gemini: id => ({
    id,
    type: 'gemini',
    tokens: { input: 9100, output: 6, cached: 9000, thoughts: 4 },
    model: 'gemini-2.5-pro',
  }),
  copilot: id => ({
    ...{ type: 'session.usage_record', id },
    data: { usage: { model: 'sonnet', inputTokens: 9100, outputTokens: 10, cacheReadTokens: 9000 } },
  }),
}

const eventOf = (vendor: HookVendor, kind: 'session_start' | 'stop', transcript: string) =>
  ({
    ...{ schema_version: 1, vendor, native: 'x', session: 's', cwd: '/p', transcript, kind },
    ...{ source: 'resume', text: '', again: false, background: 0, model: vendor === 'codex' ? 'gpt-5.5' : undefined },
  }) as HookEvent

/** What each of these lines costs by the list price of its model, cached tokens included; Copilot's line names no model that has one. */
const COSTS: Record<HookVendor, number | undefined> = {
  ...{ claude: 0.0053, codex: 0.0053, gemini: 0.00135, copilot: undefined },
}

for (const vendor of Object.keys(LINES) as HookVendor[])
  test(`what a conversation of ${vendor} used is read from its own record, once, and not from before its first hook`, t => {
    const dir = tempDir(t)
    const record = join(dir, 'record.jsonl')
    const add = (...ids: string[]) =>
      appendFileSync(record, ids.map(id => `${JSON.stringify(LINES[vendor](id))}\n`).join(''))
    const costs: (number | undefined)[] = []
    const look = (kind: 'session_start' | 'stop') => {
      const found = readSessionUsage(eventOf(vendor, kind, record), { run: dir })
      if (found) costs.push(found.cost_usd)
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
    const each = COSTS[vendor]
    const rounded = costs.map(cost => (cost === undefined ? undefined : Math.round(cost * 1e6) / 1e6))
    assert.deepEqual(rounded, each === undefined ? [each, each, each] : [each * 2, each, each])
  })

test('a conversation is full by what the vendor says its model takes at once, or by the usual size', t => {
  const file = join(tempDir(t), 'record')
  const isFull = (vendor: HookVendor, ...lines: object[]) => {
    writeFileSync(file, `{"half": "a line"\n${lines.map(line => `${JSON.stringify(line)}\n`).join('')}`)
    return isContextFull(eventOf(vendor, 'stop', file))
  }
  const claude = (tokens: number) => ({
    ...{ type: 'assistant' },
    message: { id: 'm', usage: { input_tokens: 1, cache_read_input_tokens: tokens - 2, output_tokens: 1 } },
  })
  assert.deepEqual(
    [100, 180_000, 200_000, 200_001, 899_999, 900_000].map(tokens => isFull('claude', claude(tokens))),
    [false, true, true, false, false, true],
  )
  assert.equal(isFull('claude', claude(190_000), claude(20_000)), false, 'the last answer counts')
  const window = (size: number) => ({
    type: 'event_msg',
    payload: { type: 'token_count', info: { model_context_window: size } },
  })
  assert.deepEqual(
    [window(10_000), window(10_200)].map(line => isFull('codex', LINES.codex('a'), line)),
    [true, false],
  )
  const gemini = (input: number) => ({ ...LINES.gemini('a'), tokens: { input, output: 0, cached: 0, thoughts: 0 } })
  assert.deepEqual([isFull('gemini', gemini(899_999)), isFull('gemini', gemini(900_000))], [false, true])
  const copilot = (maxPromptTokens: number) => {
    const usage = { inputTokens: 9_000, outputTokens: 0, cacheReadTokens: 0, maxPromptTokens }
    return { type: 'session.usage_record', id: 'a', data: { usage } }
  }
  assert.deepEqual([isFull('copilot', copilot(10_000)), isFull('copilot', copilot(11_000))], [true, false])
  assert.equal(isFull('copilot'), false)
  assert.equal(isContextFull(eventOf('claude', 'stop', join(file, 'none'))), false)
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

test('the cost of a conversation is estimated from list prices until Claude Code has written down its own count', async t => {
  const dir = tempDir(t)
  const record = join(dir, 'record.jsonl')
  const store = await openStore({ file: join(dir, 'db') })
  t.after(() => store.close())
  const capture = openCapture({ run: dir })
  let number = 0
  const see = async (line: object) => {
    appendFileSync(record, `${JSON.stringify(line)}\n`)
    const event = readSessionUsage(eventOf('claude', 'stop', record), { run: dir })
    assert.ok(event)
    await store.observed.capture(capture.describe({ id: `e-${number++}`, at: number, event, project: '/p' }))
    const sessions = await store.observed.list()
    const { cost_usd, cost_estimated, cost_unknown } = countObserved(sessions, 1_000)
    return [cost_usd, cost_estimated, cost_unknown]
  }
  const answer = (id: string, model: string) => ({
    type: 'assistant',
    message: { id, model, usage: { input_tokens: 100_000, output_tokens: 0 } },
  })
  const counted = (totalCostUSD: number, more = {}) => {
    return { type: 'cost-state', totalCostUSD, hasUnknownModelCost: false, ...more }
  }
  assert.deepEqual(await see(answer('a', 'claude-opus-4-6')), [0.5, true, 0])
  assert.deepEqual(await see(answer('b', 'a-model-of-tomorrow')), [0, false, 1], 'a sum without one part is no sum')
  assert.deepEqual(await see(counted(1.25)), [1.25, false, 0], 'what the vendor counted is known again')
  assert.deepEqual(
    await see(answer('c', 'claude-haiku-4-5')),
    [1.35, true, 0],
    'a resumed conversation goes on from there',
  )
  appendFileSync(record, `${JSON.stringify(counted(9, { hasUnknownModelCost: true }))}\n`)
  assert.equal(readSessionUsage(eventOf('claude', 'stop', record), { run: dir }), undefined, 'it left something out')
})

test('pcc list and pcc report say what observed sessions cost, and whether that is estimated', () => {
  const row = { id: 'o-1', vendor: 'claude', project: '/p', calls: 2, denied: 0, quota: 0, last_at: 0 } as ObservedView
  const used = { ...row, input_tokens: 1000, output_tokens: 0 }
  const line = (cost_usd: number | null, cost_estimated: boolean) =>
    observedLines([{ ...used, cost_usd, cost_estimated }], 60_000)[0]?.replace(/.*tokens/, '')
  assert.deepEqual(
    [line(0.5, true), line(0.5, false), line(null, true)],
    [', about $0.50, last 1m ago', ', $0.50, last 1m ago', ', cost not known, last 1m ago'],
  )
  const work = { sessions: 3, calls: 2, denied: 1, input_tokens: 1000, output_tokens: 10 }
  const report = (cost_usd: number, cost_estimated: boolean, cost_unknown: number) =>
    observedText({ observed: { ...work, cost_usd, cost_estimated, cost_unknown } })[0]?.replace(/.*out, /, '')
  assert.deepEqual(
    [report(1.5, true, 0), report(1.5, false, 1), report(0, false, 3)],
    ['$1.50 (estimated)', '$1.50, the cost of 1 not known', 'the cost of 3 not known'].map(
      text => `${text} (pcc hooks log)`,
    ),
  )
})
