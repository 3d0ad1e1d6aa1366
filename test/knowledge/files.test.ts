import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { NewNote } from '../../src/knowledge/note.ts'
import { NOTES_FOLDER, noteText, parseNote, readNotes } from '../../src/knowledge/read-notes.ts'
import { type NoteRecording, recordNote } from '../../src/knowledge/record-note.ts'
import { tempDir } from '../support/world.ts'
import { aNote } from './a-note.ts'

function project(t: TestContext, files: Record<string, string | Buffer> = {}) {
  const root = tempDir(t)
  const folder = join(root, NOTES_FOLDER)
  if (Object.keys(files).length > 0) mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const lockFile = join(tempDir(t), 'notes.lock')
  const record = (note: Partial<NewNote>, more: Partial<NoteRecording> = {}) =>
    recordNote(
      { title: 'T', tags: [], body: 'b', ...note },
      { project: root, by: 'agent', lockFile, now: Date.UTC(2026, 0, 2), ...more },
    )
  return { root, folder, record }
}

const GOOD = '---\ntitle: Good\n---\n\nIt is.\n'

test('what the YAML of a note warns of is not printed: it would stand there raw', async t => {
  const { root } = project(t, { 'odd.md': '---\ntitle: !!js/x "Odd"\n---\n\nb\n' })
  const warned: Error[] = []
  const hear = (warning: Error) => warned.push(warning)
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  assert.equal(readNotes(root).notes[0]?.title, 'Odd')
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(warned, [])
})

test('what is no note is named with its problem, and the others are read', t => {
  const { root, folder } = project(t, {
    'good.md': GOOD,
    'windows.md': '\ufeff---\r\ntitle: Windows\r\ntags: "One Two, #three"\r\n---\r\nFrom there.\r\n',
    'plain.md': 'just text',
    'open.md': '---\ntitle: x\n',
    'yaml.md': '---\ntitle: y\ntags: [a\n---\n',
    'untitled.md': '---\ntags: [a]\n---\n',
    'list.md': '---\n- a\n---\n',
    'tags.md': '---\ntitle: t\ntags: {a: 1}\n---\n',
    'binary.md': Buffer.from([0x2d, 0xff, 0xfe, 0x00]),
    'huge.md': `${GOOD}${'x'.repeat(70_000)}`,
    'bomb.md': `---\ntitle: a\nb: &b [${'x,'.repeat(50)}]\nc: &c [${'*b,'.repeat(50)}]\nd: [${'*c,'.repeat(50)}]\n---\n`,
    'other.txt': 'no note',
    '.hidden.md': 'no note',
  })
  mkdirSync(join(folder, 'folder.md'))
  symlinkSync('/etc/hostname', join(folder, 'link.md'))
  execFileSync('mkfifo', [join(folder, 'pipe.md')])
  const { notes, broken } = readNotes(root)
  assert.deepEqual(
    notes.map(({ title, tags, body }) => [title, tags, body]),
    [
      ['Good', [], 'It is.'],
      ['Windows', ['one-two', 'three'], 'From there.'],
    ],
  )
  const problems = Object.fromEntries(broken.map(({ file, problem }) => [file, problem]))
  const expected: Record<string, RegExp> = {
    'binary.md': /not text/,
    'bomb.md': /not YAML/,
    'folder.md': /not a plain file/,
    'huge.md': /larger than 64 KB/,
    'link.md': /a link/,
    'list.md': /no title/,
    'open.md': /not closed/,
    'pipe.md': /not a plain file/,
    'plain.md': /does not begin with front matter/,
    'tags.md': /wrong tags/,
    'untitled.md': /no title/,
    'yaml.md': /not YAML: line [34], /,
  }
  assert.deepEqual(Object.keys(problems), Object.keys(expected))
  for (const [file, problem] of Object.entries(expected)) assert.match(problems[file] ?? '', problem)
})

test('a project without notes has none', t => {
  const { notes, broken } = readNotes(project(t).root)
  assert.deepEqual([notes, broken], [[], []])
})

test('a folder that leads out of the project is neither read nor written', t => {
  for (const link of ['.perpetualcc', NOTES_FOLDER]) {
    const { root, record } = project(t)
    const outside = tempDir(t)
    mkdirSync(join(outside, 'knowledge'))
    writeFileSync(join(outside, 'secret.md'), GOOD)
    if (link !== '.perpetualcc') mkdirSync(join(root, '.perpetualcc'))
    symlinkSync(outside, join(root, link))
    assert.deepEqual(readNotes(root).notes, [])
    assert.match(readNotes(root).broken[0]?.problem ?? '', /a link out of the project/)
    const recorded = record({ title: 'Escape' })
    assert.match(recorded.did === 'refused' ? recorded.why : '', /a link out of the project/)
    assert.deepEqual(readdirSync(join(outside, 'knowledge')), [])
  }
})

test('a note is written as it is read again, with who wrote it; the same once more changes no byte', t => {
  const { root, folder, record } = project(t)
  const given = {
    title: 'Totals: "cents" # yes',
    tags: ['Cart', 'cart'],
    body: '---\nfenced\n---',
    task: 't-1',
    feature: 'f',
  }
  assert.deepEqual(record(given), {
    ...{ did: 'created', file: join(NOTES_FOLDER, 'totals-cents-yes.md'), title: given.title, tags: ['cart'] },
  })
  const [note] = readNotes(root).notes
  assert.deepEqual(
    [note?.title, note?.body, note?.by, note?.task, note?.feature],
    [given.title, given.body, 'agent', 't-1', 'f'],
  )
  const bytes = readFileSync(join(folder, 'totals-cents-yes.md'), 'utf8')
  assert.equal(record(given, { now: 1 }).did, 'known')
  assert.equal(readFileSync(join(folder, 'totals-cents-yes.md'), 'utf8'), bytes)
  assert.deepEqual(readdirSync(folder), ['totals-cents-yes.md'], 'nothing else is left behind')
})

test('a note of an agent that a person has changed is theirs from then on', t => {
  const { root, folder, record } = project(t)
  record({ title: 'T', body: 'as the agent has it' })
  const file = join(folder, 't.md')
  writeFileSync(file, readFileSync(file, 'utf8').replace('as the agent has it', 'as I have it'))
  assert.deepEqual(record({ title: 'T', body: 'as the agent has it now' }).did, 'created')
  assert.deepEqual(
    readNotes(root).notes.map(({ body, by }) => [body, by]),
    [
      ['as the agent has it now', 'agent'],
      ['as I have it', 'person'],
    ],
  )
})

test('what an agent writes is cut to a page, has no secrets and no unseen characters; too many are refused', t => {
  const { root, folder, record } = project(t)
  record({ title: 'K\u202eey', body: `use sk-ant-abcdefghijklmnop1234 \x1b[31m${'long '.repeat(2_000)}` })
  const [note] = readNotes(root).notes
  assert.equal(note?.title, 'Key')
  assert.ok(note && note.body.length <= 4_000 && !note.body.includes('abcdefgh') && !note.body.includes('\x1b'))
  assert.deepEqual(record({ title: ' ' }), { did: 'refused', title: '', why: 'it has no title' })
  assert.deepEqual(record({ body: ' \u200b' }), { did: 'refused', title: 'T', why: 'it is empty' })
  for (let n = 1; n < 200; n++) writeFileSync(join(folder, `n${n}.md`), noteText(aNote({ title: `n${n}` })))
  const full = record({ title: 'one more' })
  assert.match(full.did === 'refused' ? full.why : '', /too many notes/)
  assert.equal(record({ title: 'n7', body: 'a newer word' }).did, 'replaced')
  assert.equal(record({ title: 'mine' }, { by: 'person' }).did, 'created')
})

test('a name that a broken file or a link has is not taken from it', t => {
  const { folder, record } = project(t, { 't.md': 'a person is in the middle of writing this' })
  symlinkSync('/nowhere', join(folder, 't-2.md'))
  const recorded = record({ title: 'T' })
  assert.equal(recorded.did === 'created' && recorded.file, join(NOTES_FOLDER, 't-3.md'))
})

test('any note is read as it was written', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 40 })
  fc.assert(
    fc.property(line, fc.array(line, { maxLength: 4 }), fc.string({ unit: 'grapheme' }), (title, tags, body) => {
      const given = parseNote(
        'x.md',
        `---\ntitle: ${JSON.stringify(title)}\ntags: ${JSON.stringify(tags)}\n---\n${body}`,
      )
      if ('problem' in given) return assert.match(given.problem, /title is empty|not YAML/)
      const again = parseNote('x.md', noteText({ ...given, by: 'agent' }))
      assert.deepEqual(again, { ...given, by: 'agent' })
    }),
  )
})

test('a note of a person says nothing of agents', () => {
  const text = noteText(aNote({ by: 'person', title: 'T', tags: ['a', 'b'], body: 'x', more: { source: 'wiki' } }))
  assert.equal(text, '---\ntitle: T\ntags: [a, b]\nsource: wiki\n---\n\nx\n')
})
