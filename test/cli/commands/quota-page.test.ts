import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenGate } from '../../../src/agents/limits/account-gates.ts'
import { quotaPage } from '../../../src/cli/commands/quota.ts'
import { widthOf } from '../../../src/cli/render/text.ts'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { NOON, plain } from '../render/sample.ts'

const HOUR = 3_600_000
type Account = QuotaView['accounts'][number]

function account(change: Partial<Account> = {}): Account {
  return {
    account: 'a1b2c3d4e5f60718',
    label: 'claude · api.anthropic.com · subscription token',
    windows: [],
    past: [],
    level: 'ok',
    warns: 'ok',
    eases_at: null,
    notes: [],
    gate: null,
    waiting: [],
    ...change,
  }
}

function page(change: Partial<Account>, width = 100, view: Partial<QuotaView> = {}): string[] {
  return quotaPage({ at: NOON, accounts: [account(change)], hold: null, ...view }, plain(width))
}

const fiveHours: Account['windows'][number] = {
  window: 'five_hour',
  utilization: 0.71,
  resets_at: NOON + 4 * HOUR,
  source: 'vendor',
  at: NOON - 120_000,
  level: 'notice',
  forecast: { per_hour: 0.29, full_at: NOON + HOUR, at_reset: null },
}

const gate: NonNullable<Account['gate']> = {
  account: 'a1b2c3d4e5f60718',
  closed_until: NOON + HOUR,
  window: 'five_hour',
  source: 'record',
  reason: 'You have hit your 5-hour limit',
  probes: 0,
  closed_at: NOON,
  held: false,
  held_by: null,
  held_at: null,
}

test('the page shows a bar for each window, its source, its reset and its forecast', () => {
  const week: Account['windows'][number] = {
    ...fiveHours,
    window: 'seven_day',
    utilization: 0.42,
    resets_at: NOON + 60 * HOUR,
    forecast: { per_hour: 0.004, full_at: null, at_reset: 0.66 },
  }
  assert.deepEqual(page({ windows: [fiveHours, week], level: 'notice' }), [
    'claude · api.anthropic.com · subscription token (a1b2c3)',
    '  5-hour       ██████████████████████░░░░░░░░  71%  resets 16:00  reported by the vendor, 2m ago',
    '               at this pace (29% an hour) full at 13:00',
    '  7-day        █████████████░░░░░░░░░░░░░░░░░  42%  resets 2026-01-16 00:00  reported by the vendor, 2m ago',
    '               at this pace (0.4% an hour) 66% used when it resets',
    '  Level        notice. Half as many sessions start at once.',
    '  Gate         open',
  ])
})

test('a closed gate says until when and why, and who waits for it', () => {
  const waiting: Account['waiting'] = [
    { id: 's-1', name: 'one', status: 'rate_limited', resumes_at: NOON + HOUR + 60_000, held: false },
    { id: 's-2', name: 'two', status: 'rate_limited', resumes_at: null, held: true },
    { id: 's-3', name: 'three', status: 'rate_limited', resumes_at: null, held: false },
    { id: 's-4', name: 'four', status: 'idle', resumes_at: null, held: false },
  ]
  assert.deepEqual(page({ gate, waiting }).slice(1), [
    '  Gate         closed until 13:00: You have hit your 5-hour limit',
    '  Waiting      4 sessions',
    '               s-1 (one) goes on at 13:01',
    '               s-2 (two) is held: pcc quota release s-2',
    '               s-3 (three) limited: pcc resume s-3',
    '               s-4 (four) waits for a place',
  ])
})

test('a gate without a known reset says when it is tried again; one that a person holds says who', () => {
  const held = { ...gate, source: 'probe', held: true, held_by: 'human', held_at: NOON - HOUR } as const
  assert.deepEqual(page({ gate: held }).slice(1), [
    '  Gate         no reset is known; tried again 13:00: You have hit your 5-hour limit',
    '               held by human since 11:00; pcc quota release --account a1b2c3',
  ])
  const past = { ...held, closed_until: NOON - 1 }
  assert.match(page({ gate: past }).join('\n'), /Gate {9}held by human/)
})

test('an estimate says that it is one, why, and that it holds nothing back', () => {
  const hour = { window: 'hour', source: 'estimate', resets_at: null, forecast: null } as const
  const lines = page({
    windows: [{ ...fiveHours, ...hour, utilization: 1.2, level: 'critical' }],
    level: 'unknown',
    warns: 'critical',
    notes: ['ccusage is not installed'],
  })
  assert.deepEqual(lines.slice(1, 5), [
    `  1-hour       ${'█'.repeat(30)} 120%  our own estimate`,
    '               ccusage is not installed',
    '  Level        unknown. This is an estimate by quota.max_tokens_per_hour; it holds nothing back',
    '               (quota.gate_on_estimate).',
  ])
})

test('our own count that holds nothing back is a number of tokens; an account that nobody uses is not being tried', () => {
  const hour = { window: 'hour', source: 'estimate', resets_at: null, forecast: null, tokens: 1_006_000 } as const
  const windows = [{ ...fiveHours, ...hour, utilization: 10.06, level: 'critical' as const }]
  const of = (level: 'unknown' | 'critical') => page({ windows, level, warns: 'critical' })[1]
  assert.equal(of('unknown'), '  1-hour       1.0M tokens  our own estimate')
  assert.match(of('critical') ?? '', /█ 1006% {2}our own estimate/)
  const gate = { ...createOpenGate('a'), source: 'login' as const, reason: 'Not logged in' }
  assert.match(page({ gate, waiting: [] }).join('\n'), /needs a login; it is tried at its next use: Not logged in/)
})

test('an estimate is shown without alarm, unless a person lets it hold sessions back', () => {
  const hour = { window: 'hour', source: 'estimate', resets_at: null, forecast: null } as const
  const windows = [{ ...fiveHours, ...hour, utilization: 1.3, level: 'critical' as const }]
  const tones = (level: 'unknown' | 'critical') => {
    const used: string[] = []
    const terminal = {
      ...plain(100),
      paint: (tone: string, text: string) => {
        used.push(tone)
        return text
      },
    }
    const text = quotaPage(
      { at: NOON, accounts: [account({ windows, level, warns: 'critical' })], hold: null },
      terminal,
    ).join('\n')
    return { red: used.includes('red'), critical: text.includes('critical') }
  }
  assert.deepEqual(tones('unknown'), { red: false, critical: false })
  assert.deepEqual(tones('critical'), { red: true, critical: true })
})

test('a window that has reset since is not shown as full', () => {
  const lines = page({ past: [{ ...fiveHours, resets_at: NOON - HOUR }], level: 'unknown' })
  assert.deepEqual(lines.slice(1, 3), [
    '  5-hour       reset 11:00, nothing reported since',
    '  Level        unknown. So nothing is held back.',
  ])
})

test('a hold on everything is shown on top, with the way to release it', () => {
  const lines = page({}, 100, { hold: { by: 'human', at: NOON } })
  assert.deepEqual(lines.slice(0, 2), [
    'Everything is held by human since 2026-01-13 12:00:00.',
    'Let it go with: pcc quota release',
  ])
  assert.deepEqual(page({}, 100, { accounts: [] }), ['Nothing is known yet: no session has used an account.'])
})

test('a bar shows the least use, is full only at a hundred percent, and fits a narrow terminal', () => {
  const bar = (utilization: number) => page({ windows: [{ ...fiveHours, utilization }] })[1] ?? ''
  assert.match(bar(0), / ░{30} +0%/)
  assert.match(bar(0.001), / █░{29} +0%/)
  assert.match(bar(0.999), / █{29}░ +100%/)
  assert.match(bar(1), / █{30} +100%/)
  const narrow = page({ windows: [fiveHours], gate: { ...gate, reason: 'x '.repeat(200) } }, 60)
  for (const line of narrow.slice(3)) assert.ok(widthOf(line) <= 60, line)
})

test('text of the vendor and names cannot move the cursor', () => {
  const waiting = [{ id: 's-1', name: 'a\x1b[2Jb', status: 'rate_limited' as const, resumes_at: null, held: true }]
  const lines = page({
    label: 'x\x1b[31m\rY',
    notes: ['n\x1b]0;t\x07'],
    gate: { ...gate, reason: 'r\x1b[1A' },
    waiting,
  })
  assert.doesNotMatch(lines.join('\n'), /[\x00-\x09\x0b-\x1f]/)
})
