import assert from 'node:assert/strict'
import { test } from 'node:test'
import { journalLines } from '../../../src/cli/commands/journal.ts'
import { terminalOf, widthOf } from '../../../src/cli/render/text.ts'
import type { JournalEntry } from '../../../src/domain/attempt.ts'

const NOW = new Date('2026-11-15T15:30:00').getTime()
const plain = terminalOf({}, {})
const search = { words: '', all: false, now: NOW }

function entry(more: Partial<JournalEntry> = {}): JournalEntry {
  return {
    ...{ run_id: 'r-1', project: '/p/shop', iteration: 1, task_id: 't-1', number: 1, title: 'Build it', feature: null },
    ...{
      session_id: 's-1',
      outcome: 'done',
      reason: null,
      agents: ['claude'],
      model: 'sonnet',
      duration_ms: 125_000,
      cost_usd: 0.5,
    },
    ...{ files: [], files_more: 0, notes: null, started_at: 0, ended_at: NOW - 7_200_000, ...more },
  }
}

test('entries stand under their run, with what they did, why they failed, and what was said', () => {
  const entries = [
    entry({ files: ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'], files_more: 2, notes: 'Cents.\n\n\nNot floats.' }),
    entry({ task_id: 't-2', number: 2, outcome: 'failed', reason: 'npm test failed', model: null }),
    entry({ task_id: 't-3', run_id: 'r-2', outcome: 'interrupted' }),
  ]
  assert.deepEqual(journalLines({ entries, total: 5 }, plain, search), [
    'Run r-1',
    '✓ t-1 Build it  2h ago · 2m 5s · $0.50 · sonnet',
    '  a.ts, b.ts, c.ts, d.ts and 3 more',
    '  Cents.',
    '  Not floats.',
    '',
    '✗ t-2 Build it (attempt 2)  2h ago · 2m 5s · $0.50',
    '  npm test failed',
    '',
    'Run r-2',
    '■ t-3 Build it  2h ago · 2m 5s · $0.50 · sonnet',
    '',
    '2 more: --limit 5',
  ])
})

test('an entry found by words names its run; an empty result says so', () => {
  const [line] = journalLines({ entries: [entry({ iteration: 4 })], total: 1 }, plain, {
    ...search,
    words: 'x',
    all: true,
  })
  assert.equal(line, '✓ t-1 Build it  2h ago · 2m 5s · $0.50 · sonnet · r-1 #4 of shop')
  assert.match(journalLines({ entries: [], total: 0 }, plain, { ...search, words: 'x' })[0] ?? '', /matches "x"/)
  assert.match(journalLines({ entries: [], total: 0 }, plain, search)[0] ?? '', /pcc run \.$/)
})

test('on a narrow terminal no line is too long, and nothing that an agent said moves the cursor', () => {
  const evil = entry({
    title: 'x\x1b[2J'.repeat(30),
    notes: `\x1b]0;t\x07${'word '.repeat(400)}`,
    files: ['\x1b[1m.ts'.repeat(40)],
  })
  const lines = journalLines(
    { entries: [evil], total: 1 },
    terminalOf({ isTTY: true, columns: 50 }, { NO_COLOR: '1' }),
    search,
  )
  assert.ok(
    lines.every(line => widthOf(line) <= 50 && !/[\x00-\x1f]/.test(line)),
    lines.join('\n'),
  )
  assert.ok(lines.includes('  …'))
})

test('an entry says who did it, where that was not Claude Code alone', () => {
  const shown = (agents: string[]) => journalLines({ entries: [entry({ agents })], total: 1 }, plain, search)[1]
  assert.equal(shown(['claude', 'codex']), '✓ t-1 Build it  2h ago · 2m 5s · $0.50 · claude, then codex · sonnet')
  assert.equal(shown(['gemini']), '✓ t-1 Build it  2h ago · 2m 5s · $0.50 · gemini · sonnet')
  assert.equal(shown(['claude']), '✓ t-1 Build it  2h ago · 2m 5s · $0.50 · sonnet')
})
