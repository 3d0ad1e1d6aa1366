import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JournalEntry } from '../../../src/domain/attempt.ts'
import { buildBrief } from '../../../src/supervisor/brief/build-brief.ts'
import { journalSection, notesSection } from '../../../src/supervisor/brief/history-sections.ts'
import { countTokens } from '../../../src/supervisor/brief/prompt-text.ts'
import { aNote } from '../../knowledge/a-note.ts'

function entry(more: Partial<JournalEntry> = {}): JournalEntry {
  return {
    ...{ run_id: 'r-1', project: '/p', iteration: 1, task_id: 't-1', number: 1, title: 'Build it', feature: null },
    ...{
      session_id: 's-1',
      outcome: 'done',
      reason: null,
      agents: [],
      model: 'sonnet',
      duration_ms: 125_000,
      cost_usd: 0.1,
    },
    ...{ files: [], files_more: 0, notes: null, started_at: 0, ended_at: 125_000, ...more },
  }
}

const drawn = (section: Parameters<typeof buildBrief>[0][number]) => buildBrief([section], { tokens: 60_000 })

test('entries of this run stand before those of earlier ones, with how, files, why and words', () => {
  const failed = entry({ outcome: 'failed', number: 2, reason: 'npm test:\n3 failing', model: null, duration_ms: 10 })
  const told = entry({ files: ['a.ts', 'b.ts'], files_more: 3, notes: 'Cents.' })
  const { text, dropped } = drawn(journalSection({ recent: [failed], alike: [told] }))
  assert.equal(
    text,
    [
      '## What happened before',
      'In this run, the latest first:',
      '```\nt-1 Build it, attempt 2: failed in under a minute\nwhy: npm test: 3 failing\n```',
      'Of the whole project, what is most like this task:',
      '```\nt-1 Build it: done in 2 min with sonnet\nchanged: a.ts, b.ts and 3 more\nCents.\n```',
    ].join('\n\n'),
  )
  assert.deepEqual(dropped, [])
})

test('what the brief says elsewhere of a task is not said twice', () => {
  const { text } = drawn(
    journalSection({ recent: [entry({ notes: 'The whole report.' })], alike: [] }, ['The whole report. And more.']),
  )
  assert.ok(text.includes('t-1 Build it: done') && !text.includes('report'))
})

test('of an entry that only says that it is done, no words are shown', () => {
  const said = ['All done.', 'Done: everything is implemented, and all tests pass.', 'The parser is written.']
  const recent = said.map((notes, n) => entry({ task_id: `t-${n}`, title: 'Write the parser', notes }))
  const { text } = drawn(journalSection({ recent, alike: [entry({ notes: 'Commas are escaped.' })] }))
  assert.ok(!/All done|implemented|is written/.test(text), text)
  assert.ok(text.includes('Commas are escaped.'))
})

test('without a past there is no section', () => {
  assert.equal(drawn(journalSection({ recent: [], alike: [] })).text, '')
  assert.equal(drawn(notesSection([])).text, '')
})

test('where both have much to tell, each has its share, and what is left out is said and counted', () => {
  const many = (task_id: string) => Array.from({ length: 30 }, () => entry({ task_id, notes: 'word '.repeat(150) }))
  const { text, tokens, dropped } = drawn(journalSection({ recent: many('t-now'), alike: many('t-then') }))
  assert.ok(tokens <= 1_000 && tokens > 600, String(tokens))
  const count = (id: string) => text.split(id).length - 1
  assert.ok(count('t-now') >= count('t-then') && count('t-then') >= 1, `${count('t-now')} ${count('t-then')}`)
  assert.match(text, /\(\d+ more are in the journal\)$/)
  assert.equal(dropped[0]?.whole, false)
})

test('whatever entries say, they keep within 1,000 tokens and inside of their fence', () => {
  const words = fc.string({
    unit: fc.constantFrom('`', '~', '\n', 'a ', '# ', '\u202e', '語', '</journal>'),
    maxLength: 400,
  })
  const entries = fc.array(
    fc
      .record({
        title: words,
        notes: fc.option(words),
        reason: fc.option(words),
        files: fc.array(words, { maxLength: 12 }),
      })
      .map(entry),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(entries, entries, (recent, alike) => {
      const { text, tokens } = drawn(journalSection({ recent, alike }))
      assert.ok(tokens <= 1_000)
      const outside = text.replace(/^(`{3,})\n[\s\S]*?\n\1$/gm, '')
      assert.ok(!/[~`語]/.test(outside), outside)
    }),
    { numRuns: 60 },
  )
})

test('a note that is too long is cut, and those without room are named by their files', () => {
  const long = aNote({ file: 'long.md', title: 'Long', body: 'word '.repeat(1_500) })
  const notes = Array.from({ length: 9 }, (_, n) => ({ ...long, file: `long-${n}.md` }))
  const { text, tokens, dropped } = drawn(notesSection(notes))
  assert.ok(tokens <= 2_000, String(tokens))
  assert.match(text, / …\n\(the rest is in the file\)\n```/)
  assert.match(text, /\(Left out for length, in \.perpetualcc\/knowledge: "long-2\.md", .* and 2 more\)$/)
  assert.equal(dropped[0]?.section, 'notes')
  assert.ok(countTokens(text) > 1_000, 'there is room for two')
})

test('whatever notes say, they keep within 2,000 tokens and inside of their fences', () => {
  const words = fc.string({ unit: fc.constantFrom('`', '\n', 'a', '```\n', '\x1b[1m', '語'), maxLength: 600 })
  const notes = fc.array(
    fc.record({ title: words, body: words, file: words, tags: fc.array(words, { maxLength: 3 }) }),
    { maxLength: 20 },
  )
  fc.assert(
    fc.property(notes, list => {
      const { text, tokens } = drawn(notesSection(list.map(aNote)))
      assert.ok(tokens <= 2_000)
      const outside = text.replace(/^(`{3,})\n[\s\S]*?\n\1$/gm, '').replace(/\(Left out for length[^\n]*/, '')
      assert.ok(!/[`語\x1b]/.test(outside), JSON.stringify(outside))
    }),
    { numRuns: 60 },
  )
})
