import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchNotes, searchNotes } from '../../src/knowledge/match-notes.ts'
import { aNote } from './a-note.ts'

const titles = (notes: { title: string }[]) => notes.map(({ title }) => title)

test('tags are matched with labels, feature, title, description and files, in this order of weight', () => {
  const notes = [
    aNote({ title: 'by file', tags: ['migrations', 'sql'] }),
    aNote({ title: 'by description', tags: ['rounding', 'bank'] }),
    aNote({ title: 'by title', tags: ['cart', 'sums'] }),
    aNote({ title: 'by feature', tags: ['shop', 'till'], feature: 'shop' }),
    aNote({ title: 'by label', tags: ['ci', 'slow'] }),
    aNote({ title: 'by nothing', tags: ['weather'] }),
  ]
  const found = matchNotes(notes, {
    title: 'Sum up the cart',
    description: 'with rounding for the bank',
    labels: ['ci', 'slow'],
    feature: 'shop',
    files: ['src/migrations/0001.sql'],
  })
  assert.deepEqual(titles(found), ['by label', 'by feature', 'by title', 'by description', 'by file'])
})

test('a tag of several words needs all of them, words fit in their other forms, and one word of a title is chance', () => {
  const about = { title: 'Handle errors of the parser', description: 'tests first' }
  const fits = (more: object) => matchNotes([aNote(more)], about).length === 1
  assert.ok(fits({ tags: ['error-handling'] }))
  assert.ok(fits({ tags: ['parsers'] }))
  assert.ok(fits({ tags: ['testing'] }))
  assert.ok(!fits({ tags: ['error-codes'] }))
  assert.ok(fits({ tags: ['handle-error'] }))
  assert.ok(!fits({ title: 'The parser' }))
  assert.ok(fits({ title: 'Errors of a parser' }))
})

test('what is as near comes newest first', () => {
  const [older, newer] = ['2026-01-01', '2026-02-01'].map(updated_at =>
    aNote({ title: updated_at, tags: ['a1'], updated_at }),
  )
  assert.ok(older && newer)
  assert.deepEqual(titles(matchNotes([older, newer], { title: 'a1' })), ['2026-02-01', '2026-01-01'])
})

test('a search wants every word, as the beginning of one, and the title counts before the text', () => {
  const notes = [
    aNote({ title: 'Weather', body: 'Totals of rain in cents of an inch.' }),
    aNote({ title: 'Totals are cents', body: 'Integers.' }),
    aNote({ title: 'Other', tags: ['totals'], body: 'Nothing.' }),
  ]
  assert.deepEqual(titles(searchNotes(notes, 'total cent')), ['Totals are cents', 'Weather'])
  assert.deepEqual(titles(searchNotes(notes, 'TOT')), ['Totals are cents', 'Other', 'Weather'])
  assert.deepEqual(searchNotes(notes, '?!'), [])
})
