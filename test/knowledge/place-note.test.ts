import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NOTE_LIMITS, type Note } from '../../src/knowledge/note.ts'
import { placeNote, tagOverlap } from '../../src/knowledge/record-note.ts'
import { aNote } from './a-note.ts'

const cents = aNote({
  file: 'cents.md',
  title: 'Totals are cents',
  tags: ['cart', 'money'],
  created_at: '2026-01-01',
  more: { x: 1 },
})

test('a note of the same title, however it is written, takes the place and keeps the file, its first day and unknown keys', () => {
  const { did, note } = placeNote(aNote({ title: ' totals  ARE cents', body: 'new', created_at: '2026-02-02' }), [
    cents,
  ])
  assert.equal(did, 'replaced')
  assert.deepEqual([note.file, note.body, note.created_at, note.more], ['cents.md', 'new', '2026-01-01', { x: 1 }])
})

test('a note that says the same is known; whatever else a note may say counts as new', () => {
  const before = aNote({ file: 'a.md', feature: 'shop', created_at: '2026-01-01', more: { x: 1 }, task: 't-1' })
  const said = (more: object) =>
    placeNote(aNote({ file: '', feature: 'shop', created_at: '2026-02-02', ...more }), [before])
  assert.equal(said({ task: 't-2', updated_at: '2026-02-02' }).did, 'known')
  for (const more of [{ feature: 'cart' }, { tags: ['a'] }, { body: 'b' }, { severity: 'high' }])
    assert.equal(said(more).did, 'replaced', JSON.stringify(more))
})

test('more than half of the tags in common merges, with the tags of both; half or less does not', () => {
  const merged = placeNote(aNote({ title: 'Tax', tags: ['cart', 'money', 'tax'], body: 'By country.' }), [cents])
  assert.equal(merged.did, 'merged')
  assert.deepEqual([merged.note.title, merged.note.tags], ['Totals are cents', ['cart', 'money', 'tax']])
  assert.equal(merged.note.body, 'text\n\n## Tax\n\nBy country.')
  assert.equal(placeNote(aNote({ title: 'Tax', tags: ['cart', 'tax'] }), [cents]).did, 'created')
  assert.equal(placeNote(aNote({ title: 'Tax', tags: [] }), [aNote({ title: 'B', tags: [] })]).did, 'created')
})

test('said again in other words, what was added to another note gives way to what is said now', () => {
  const tax = (body: string, other: Note) =>
    placeNote(aNote({ title: 'Tax', tags: ['cart', 'money'], body }), [other]).note
  const twice = tax('By state.', tax('Of $& more.', tax('By country.', cents)))
  assert.equal(twice.body, 'text\n\n## Tax\n\nBy state.')
})

test('an agent leaves what a person wrote alone, and has its own beside it; a person may replace both', () => {
  const persons = { ...cents, by: 'person' as const }
  const beside = placeNote(aNote({ title: 'Totals are cents', tags: cents.tags, body: 'no' }), [persons])
  assert.deepEqual([beside.did, beside.note.file], ['created', 'totals-are-cents.md'])
  const again = placeNote(aNote({ title: 'Totals are cents', tags: cents.tags, body: 'yes' }), [persons, beside.note])
  assert.deepEqual([again.did, again.note.file], ['replaced', 'totals-are-cents.md'])
  assert.equal(placeNote(aNote({ by: 'person', title: 'Totals are cents', body: 'no' }), [cents]).note.by, 'person')
})

test('names of files are plain, and never those of another file', () => {
  const name = (title: string, ...taken: string[]) => placeNote(aNote({ title }), [], taken).note.file
  assert.equal(name('../../etc/passwd'), 'etc-passwd.md')
  assert.equal(name('Über Größe!'), 'uber-gro-e.md')
  assert.equal(name('日本語'), 'note.md')
  assert.equal(name('a'.repeat(300)).length, 63)
  assert.equal(name('One', 'ONE.md', 'one-2.md'), 'one-3.md')
})

test('two full notes do not grow one beyond what is read: the second has a file of its own', () => {
  const full = aNote({ file: 'full.md', title: 'Full', tags: ['a'], body: 'x'.repeat(NOTE_LIMITS.body * 2 - 100) })
  assert.equal(placeNote(aNote({ title: 'More', tags: ['a'], body: 'y'.repeat(200) }), [full]).did, 'created')
})

const notes = fc.record({
  title: fc.constantFrom('One', 'one', 'Two', 'Three', 'Four'),
  tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')),
  body: fc.constantFrom('first', 'second', 'third'),
  by: fc.constantFrom('agent' as const, 'person' as const),
})

test('whatever is written in whatever order: nothing is written twice, no file is shared, and persons keep their words', () => {
  fc.assert(
    fc.property(fc.array(notes, { maxLength: 12 }), written => {
      let shelf: Note[] = []
      for (const each of written) {
        const note = aNote({ ...each, file: '' })
        const placed = placeNote(note, shelf)
        const before = shelf.find(({ file }) => file === placed.note.file)
        if (before?.by === 'person' && each.by === 'agent') assert.equal(placed.did, 'known')
        shelf = [...shelf.filter(({ file }) => file !== placed.note.file), placed.note]
        assert.equal(placeNote(note, shelf).did, 'known', 'the same once more changes nothing')
        assert.ok(placed.note.body.includes(each.body))
      }
      assert.equal(new Set(shelf.map(({ file }) => file)).size, shelf.length)
    }),
  )
})

test('the overlap of tags is the same from both sides, one for the same tags and none for others', () => {
  const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
  fc.assert(
    fc.property(tags, tags, (a, b) => {
      const overlap = tagOverlap(a, b)
      assert.equal(overlap, tagOverlap(b, a))
      assert.ok(overlap >= 0 && overlap <= 1)
      assert.equal(overlap === 1, a.length > 0 && a.length === b.length && a.every(tag => b.includes(tag)))
      assert.equal(overlap === 0, !a.some(tag => b.includes(tag)))
    }),
  )
})
