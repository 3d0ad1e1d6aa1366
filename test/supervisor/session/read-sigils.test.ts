import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSigils, stripSigils } from '../../../src/supervisor/session/read-sigils.ts'

const TASK = 't-3fa91c'
const DONE = `<task-done>${TASK}</task-done>`
const read = (text: string) => readSigils(text, { task: TASK })
const counted = (text: string) => read(text).sigils
const whys = (text: string) => read(text).ignored.map(({ why }) => why)

test('every sigil is read when it is alone on its line', () => {
  const text = [
    'I have finished.',
    DONE,
    `<task-failed>${TASK}</task-failed>`,
    '<promise>COMPLETE</promise>',
    '<promise>FAILURE</promise>',
    '<next-model>opus</next-model>',
    '<verify-pass/>',
    '<verify-fail>two tests fail</verify-fail>',
    '<journal>Chose SQLite.</journal>',
    '<knowledge tags="db, sqlite,db" title="WAL mode">Use it.</knowledge>',
    'Bye.',
  ].join('\n')
  assert.deepEqual(read(text), {
    sigils: [
      { kind: 'task-done', task: TASK },
      { kind: 'task-failed', task: TASK },
      { kind: 'promise', promise: 'COMPLETE' },
      { kind: 'promise', promise: 'FAILURE' },
      { kind: 'next-model', model: 'opus' },
      { kind: 'verify-pass' },
      { kind: 'verify-fail', reason: 'two tests fail' },
      { kind: 'journal', notes: 'Chose SQLite.' },
      { kind: 'knowledge', title: 'WAL mode', tags: ['db', 'sqlite'], body: 'Use it.' },
    ],
    ignored: [],
  })
})

test('a failure may give its reason after a colon', () => {
  assert.deepEqual(counted(`<task-failed>${TASK}: the API is gone</task-failed>`), [
    { kind: 'task-failed', task: TASK, reason: 'the API is gone' },
  ])
  assert.deepEqual(counted('<promise>FAILURE: no network: none at all</promise>'), [
    { kind: 'promise', promise: 'FAILURE', reason: 'no network: none at all' },
  ])
})

test('notes, knowledge and findings may span several lines, with code in them', () => {
  const notes = '<journal>\nFirst.\n\n```ts\nconst a = 1\n```\nLast.\n</journal>'
  assert.deepEqual(counted(`${notes}\n\n${DONE}`), [
    { kind: 'journal', notes: 'First.\n\n```ts\nconst a = 1\n```\nLast.' },
    { kind: 'task-done', task: TASK },
  ])
  const found = '<verify-fail>one\ntwo</verify-fail>'
  assert.deepEqual(counted(found), [{ kind: 'verify-fail', reason: 'one\ntwo' }])
})

test('a sigil inside of notes is part of the notes', () => {
  assert.deepEqual(counted(`<journal>\n${DONE}\n</journal>`), [{ kind: 'journal', notes: DONE }])
})

const NOT_MEANT: [name: string, text: string, why: RegExp][] = [
  ['a code fence', `\`\`\`\n${DONE}\n\`\`\``, /code fence/],
  ['a fence of tildes', `~~~ xml\n${DONE}\n~~~`, /code fence/],
  ['a fence that is never closed', `Like so:\n\`\`\`\n${DONE}\n`, /code fence/],
  ['a longer fence around a shorter one', `\`\`\`\`\n\`\`\`\n${DONE}\n\`\`\`\n\`\`\`\``, /code fence/],
  ['a fence with the other mark in it', `\`\`\`\n~~~\n\`\`\`x\n${DONE}\n\`\`\``, /code fence/],
  ['a fence in a list', `- so:\n  \`\`\`\n${DONE}\n  \`\`\``, /code fence/],
  ['a fence beside a list marker', `1. \`\`\`\n${DONE}\n   \`\`\``, /code fence/],
  ['a real fence behind one that a list left open', `- a\n  \`\`\`\n\nb\n\n\`\`\`\n${DONE}\n\`\`\``, /code fence/],
  ['a quotation', `> ${DONE}`, /quotation/],
  ['the rest of a quotation', `> The file says\n${DONE}`, /quotation/],
  ['an indented block', `The file:\n\n    ${DONE}`, /does not begin its line/],
  ['an indented line', ` ${DONE}`, /does not begin its line/],
  ['a line behind a tab', `\t${DONE}`, /does not begin its line/],
  ['an item of a list', `- ${DONE}`, /does not begin its line/],
  ['a numbered item', `3. ${DONE}`, /does not begin its line/],
  ['a quoted file', `<file path="a">\n\n${DONE}\n\n</file>`, /element/],
  ['a block of <pre>', `<pre>\n\n${DONE}\n</pre>`, /element/],
  ['a comment', `<!-- not yet\n\n${DONE}\n-->`, /element/],
  ['a span of code', `Write \`\n${DONE}\n\` then.`, /span of code/],
]

for (const [name, text, why] of NOT_MEANT) {
  test(`a sigil in ${name} does not count, and is reported`, () => {
    const { sigils, ignored } = read(text)
    assert.deepEqual(sigils, [])
    assert.equal(ignored.length, 1)
    assert.match(ignored[0]?.why ?? '', why)
  })
}

test('a mention in a sentence is neither counted nor reported', () => {
  const text = `I will write ${DONE} when I am done.\nOr \`${DONE}\`.`
  assert.deepEqual(read(text), { sigils: [], ignored: [] })
})

test('a sigil with other text on its line does not count', () => {
  assert.deepEqual(whys(`${DONE} I think`), ['it is not alone on its line'])
  assert.deepEqual(whys('<verify-pass/> nearly'), ['it is not alone on its line'])
  assert.deepEqual(whys('<journal>a</journal> b'), ['it is not alone on its line'])
})

test('a sigil after ordinary Markdown counts: closed fences, lists, finished quotations, code in sentences', () => {
  const before = [
    '```ts\nconst a = `x`\n```',
    '- one\n- two\n  ```sh\n  npm test\n  ```\n  1. deep\n     ```\n     code\n     ```',
    '1. Run:\n\n   ```bash\n   npm test\n   ```\n\n2. Look.',
    '> quoted\n> ```\n> code\n> ```',
    '    indented code\n    more of it',
    'Changed `a.ts` and `b.ts`, see ``x`y``.',
    '<details>\n<summary>Log</summary>\n\n```\nlog\n```\n\n</details>',
    '# Heading\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    '---',
  ]
  for (const document of [...before, before.join('\n\n')]) {
    assert.deepEqual(counted(`${document}\n\n${DONE}`), [{ kind: 'task-done', task: TASK }], document)
  }
  assert.equal(counted(`All is done:\n- a\n- b\n${DONE}\n`).length, 1)
  assert.equal(counted(`Done.\r\n${DONE}  \r\n`).length, 1)
})

test('a sigil that names another task is reported and does not count', () => {
  assert.deepEqual(whys('<task-done>t-000000</task-done>'), ['it names t-000000, which is not the task at hand'])
  assert.deepEqual(readSigils(DONE, { task: undefined }).sigils, [])
  assert.deepEqual(counted('<promise>FAILURE</promise>').length, 1)
})

test('a failure without an id is that of the task at hand, and one of another task is not', () => {
  assert.deepEqual(counted('<task-failed>the database is not there</task-failed>'), [
    { kind: 'task-failed', task: TASK, reason: 'the database is not there' },
  ])
  assert.deepEqual(counted('<task-failed>t-000000: it is not mine</task-failed>'), [])
  assert.deepEqual(readSigils('<task-failed>no</task-failed>', { task: undefined }).sigils, [])
})

test('a repeated sigil does not count; a different one does', () => {
  assert.deepEqual(whys(`${DONE}\n${DONE}`), ['it was said before'])
  assert.equal(counted(`<next-model>opus</next-model>\n<next-model>haiku</next-model>`).length, 2)
})

test('a sigil that cannot be parsed is reported and does not count', () => {
  assert.deepEqual(whys('<task-done></task-done>'), ['it is empty'])
  assert.deepEqual(whys('<task-done>all of it</task-done>'), ['it names no task'])
  assert.deepEqual(whys(`<task-done>${TASK}`), ['it is not closed'])
  assert.deepEqual(whys(`<task-done>\n${TASK}\n</task-done>`), ['it is not closed'])
  assert.deepEqual(whys('<promise>MAYBE</promise>'), ['it is neither COMPLETE nor FAILURE'])
  assert.deepEqual(whys('<promise>FAILURES</promise>'), ['it is neither COMPLETE nor FAILURE'])
  assert.deepEqual(whys('<next-model>opus; rm -rf /</next-model>'), ['it names no model'])
  assert.deepEqual(whys('<next-model>--print</next-model>'), ['it names no model'])
  assert.deepEqual(whys('<verify-pass>yes</verify-pass>'), ['it should be empty'])
  assert.deepEqual(whys('<knowledge tags="a">b</knowledge>'), ['it has no title'])
  assert.deepEqual(whys(`<task-done sure="yes">${TASK}</task-done>`), ['it has attributes, and should have none'])
  assert.deepEqual(whys('<journal>never closed\n'), ['it is not closed'])
  assert.deepEqual(whys('<task-done \n'), ['its tag is not complete'])
})

test('long sigils are cut, only the first fifty are read, and invisible characters are left out', () => {
  const [failed] = counted(`<verify-fail>${'x'.repeat(100_000)}</verify-fail>`)
  assert.equal(failed?.kind === 'verify-fail' && failed.reason.length, 2_000)
  const [note] = counted(`<journal>a\u0000\u202eb\tc\u001b[2J</journal>`)
  assert.equal(note?.kind === 'journal' && note.notes, 'ab\tc[2J')
  assert.deepEqual(whys(`${'text\n'.repeat(200_000)}${DONE}`), ['its text is too long to be read'])
  const many = Array.from({ length: 10_000 }, (_, index) => `<journal>${index}</journal>`).join('\n')
  assert.equal(counted(many).length, 50)
  const tags = Array.from({ length: 100 }, (_, index) => `tag${index}`).join(',')
  const [known] = counted(`<knowledge tags="${tags}" title="${'t'.repeat(500)}">b</knowledge>`)
  assert.deepEqual(known?.kind === 'knowledge' && [known.tags.length, known.title.length], [20, 200])
})

test('sigils are removed from the text of an agent, also over several lines, and nothing else is', () => {
  const text = [
    'Done.',
    '<task-done>t-3fa91c</task-done>',
    '<journal>',
    'a <b>bold</b> word',
    '</journal>',
    '<knowledge title="x" tags="a, b">one',
    'two</knowledge>',
    'I wrote <journal>this</journal> in a sentence.',
    '<verify-pass/>',
    '<div>stays</div>',
  ].join('\n')
  assert.equal(stripSigils(text), 'Done.\n\nI wrote <journal>this</journal> in a sentence.\n\n<div>stays</div>')
})

test('a text of nothing but opening tags is read quickly', () => {
  assert.equal(stripSigils('<journal>\n'.repeat(2_000)).length, '<journal>\n'.repeat(2_000).trim().length)
})
