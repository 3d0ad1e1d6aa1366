import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequirements } from '../../../src/tasks/requirements/requirements.ts'
import { openTexts, refusedFor } from './a-file.ts'

const read = async (text: string) => (await parseRequirements('r.md', text)).requirements

test('a mark of the byte order at the beginning, as Windows writes it, changes nothing', async () => {
  const text = '---\r\ntags: x\r\n---\r\n# Shop\r\n\r\n- [ ] One\r\n  - [ ] and two\r\n'
  assert.deepEqual(await read(`\ufeff${text}`), await read(text))
  assert.deepEqual(openTexts(await read(`\ufeff${text}`)), ['One\n- [ ] and two'])
})

test("the manual's Markdown is read: title, overview, tasks with their boxes, preferences and constraints", async () => {
  const found = await read(`# Project: Notes API

## Overview
A small *API*
for notes.

## Tasks
- [ ] Add login
- [x] Set up the repository
- [X] Write the schema
* [ ] Add search

## Preferences
- Database: PostgreSQL
- **ORM**: Drizzle
- **Auth** – JWT

## Constraints
- Must run on Node 24
- Must not use
  MySQL
`)
  assert.deepEqual(found, {
    title: 'Notes API',
    overview: 'A small *API*\nfor notes.',
    tasks: [
      { text: 'Add login', done: false, priority: 0, depends_on: [], line: 8 },
      { text: 'Set up the repository', done: true, priority: 0, depends_on: [], line: 9 },
      { text: 'Write the schema', done: true, priority: 0, depends_on: [], line: 10 },
      { text: 'Add search', done: false, priority: 0, depends_on: [], line: 11 },
    ],
    preferences: [
      { key: 'Database', value: 'PostgreSQL' },
      { key: 'ORM', value: 'Drizzle' },
      { key: 'Auth', value: 'JWT' },
    ],
    constraints: ['Must run on Node 24', 'Must not use MySQL'],
  })
})

test('an open item is one task with all that stands under it, as it is written', async () => {
  const text =
    '## Tasks\n- [ ] `POST /login`\n  - [ ] form\n  - [x] table\n\n  ```sh\n  npm test\n    indented\n  ```\n- [ ] next\n'
  assert.deepEqual(openTexts(await read(text)), [
    '`POST /login`\n- [ ] form\n- [x] table\n\n```sh\nnpm test\n  indented\n```',
    'next',
  ])
})

test('what is open under an item that is done is still a task; what is struck through is not', async () => {
  const text =
    '## Tasks\n- [x] Set up CI\n  - [x] lint\n  - [ ] deploy preview\n- [ ] ~~Add Docker~~\n- [ ] **Bold** one\n'
  assert.deepEqual(openTexts(await read(text)), ['deploy preview\n\n(Part of: Set up CI)', '**Bold** one'])
})

test('under Tasks numbers, plain bullets and sub-headings count; boxes elsewhere do not', async () => {
  const text = `# P
## Tasks
1. [ ] first
2. second
### Phase 2
+ [ ] third
## Acceptance
- [ ] the tester is happy
\`\`\`
- [ ] in code
\`\`\`
<!-- - [ ] in a comment -->
`
  assert.deepEqual(openTexts(await read(text)), ['first', 'second', 'third\n\n(Part of: Phase 2)'])
})

test('without a section for them tasks are wherever boxes stand, and a bullet alone is none', async () => {
  const text = 'Hello.\n\n- a note\n- [ ] one\n\n## Preferences\n- [ ] Tests: yes\n\n## Later\n- [ ] two\n'
  assert.deepEqual(openTexts(await read(text)), ['one', 'two\n\n(Part of: Later)'])
  assert.deepEqual((await read('# Title\n\n- only notes\n')).tasks, [])
})

test('lines are those of the file, whatever its line ends and front matter', async () => {
  const text = '---\r\ntitle: x\r\n---\r\n\r\n## Tasks\r\n\r\n- [ ] one\r\n  and more\r\n- [ ] two\r\n'
  assert.deepEqual(
    (await read(text)).tasks.map(({ line, text: said }) => [line, said]),
    [
      [7, 'one\nand more'],
      [9, 'two'],
    ],
  )
})

test('preferences may be sentences, lists under a name, rows of a table, or plain lines', async () => {
  const { preferences } = await read(`## Preferences
- Use TypeScript
- Testing:
  - node:test
  - fast-check
- Backend:
  - Framework: Fastify
- Docs: https://example.org/a:b
- ~~Cache: Memcached~~
- Queue:

| What | Which |
|---|---|
| Cache | \`Redis\` |

Style: 2 spaces
Quotes = single
`)
  assert.deepEqual(preferences, [
    { key: '', value: 'Use TypeScript' },
    { key: 'Testing', value: 'node:test; fast-check' },
    { key: 'Backend Framework', value: 'Fastify' },
    { key: 'Docs', value: 'https://example.org/a:b' },
    { key: 'Cache', value: 'Redis' },
    { key: 'Style', value: '2 spaces' },
    { key: 'Quotes', value: 'single' },
  ])
})

test('what is ruled out never stands as a value or a constraint without the word that rules it out', async () => {
  const { preferences, constraints } = await read(
    '## Preferences\n- Avoid: MySQL, Redis or Mongo\n- Do not use:\n  - jQuery\n  - Angular\n\n## Constraints\n- Forbidden: eval, with\n- Banned:\n  - vm\n',
  )
  assert.deepEqual(preferences, [
    { key: '', value: 'avoid MySQL; avoid Redis; avoid Mongo' },
    { key: '', value: 'avoid jQuery; avoid Angular' },
  ])
  assert.deepEqual(constraints, ['avoid eval', 'avoid with', 'avoid vm'])
})

test('a box that Markdown does not take for one, or that has nothing behind it, is refused with its line', async () => {
  const problems = await refusedFor('r.md', '## Tasks\n- [] a\n- [ ]\n- [?] b\n- [x]done\n- [a link](http://x) stays\n')
  assert.match(problems, /line 2, Tasks: "\[\]" is not a box: write "\[ \] "/)
  assert.match(problems, /line 3, Tasks: the task is empty/)
  assert.match(problems, /line 4, Tasks: "\[\?\]" is not a box/)
  assert.match(problems, /line 5, Tasks: "\[x\]" is not a box/)
  assert.doesNotMatch(problems, /line 6/)
})

test('marks inside a word do not break it', async () => {
  const { title, preferences } = await read('# Re**think** `a`*b*\n\n## Preferences\n- Database: **Postgre**SQL\n')
  assert.equal(title, 'Rethink ab')
  assert.deepEqual(preferences, [{ key: 'Database', value: 'PostgreSQL' }])
})

test('headings named like parts of every object are no sections', async () => {
  assert.deepEqual(openTexts(await read('## constructor\n- [ ] a\n## valueOf\n- [ ] b\n')), [
    'a\n\n(Part of: constructor)',
    'b\n\n(Part of: valueOf)',
  ])
})

test('(after: …) at the end of a task names others by title; what no task is called is refused with its line', async () => {
  for (const path of ['r.md', 'r.txt']) {
    const text = '## Tasks\n- Import (after: validate ISBN numbers)\n  with care\n- Validate ISBN numbers\n'
    const plain = path === 'r.md' ? text : text.replace('## Tasks', 'Tasks:').replace('  with care\n', '')
    const { requirements } = await parseRequirements(path, plain)
    const [first, second] = requirements.tasks
    assert.deepEqual([first?.depends_on, first?.text.split('\n')[0]], [[second?.id], 'Import'], path)
  }
  assert.match(await refusedFor('r.md', '- [ ] A (after: B)\n'), /line 1, after: no other task has the title "B"/)
  assert.match(await refusedFor('r.md', '- [ ] A (after: B)\n- [ ] B (after: A)\n'), /line 1\) → .*line 2/)
})
