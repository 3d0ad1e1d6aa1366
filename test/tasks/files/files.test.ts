import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AppError } from '../../../src/base/errors.ts'
import { cleanText, MAX_IMPORTED, type UpdateTask } from '../../../src/domain/task-requests.ts'
import { importTasks } from '../../../src/tasks/files/import-tasks.ts'
import { readTasks } from '../../../src/tasks/files/read-tasks.ts'
import { TASK_FORMATS, type TaskFormat } from '../../../src/tasks/files/task-text.ts'
import { writeTasks } from '../../../src/tasks/files/write-tasks.ts'
import { type Graph, openGraph } from '../a-graph.ts'

const clock = { now: () => 1_000 }

async function imported(
  graph: Graph,
  text: string,
  format: TaskFormat,
  options: { project?: string; copy?: boolean; update?: boolean } = {},
) {
  const tasks = await readTasks(text, format, 'tasks.file')
  const { project = '/p', copy = false, update = false } = options
  return graph.store.transaction(tx => importTasks(tasks, { project, copy, update }, { store: graph.store, clock, tx }))
}

const titled = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(text => /[\p{L}\p{N}]/u.test(text))
const A_TASK = fc.record({
  title: fc.oneof(
    titled,
    fc.constantFrom(
      'a <!-- task: {} --> b',
      'a (after: b)',
      '(after: x)',
      'a (after b)',
      'a (needs: b) c',
      'a (waits for: b',
      '- [ ] box',
      '<!-- x',
      '[x] y',
      '"q": #1',
      'é 漢字 🎉',
    ),
  ),
  text: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constantFrom(
      'two\n\nlines',
      '```\n- [ ] no task\n```',
      '- [ ] looks like one',
      '  indented\n more',
      '~~~\nopen',
      '-->',
      '<!-- task: {} -->',
      'a\n- b\n  - c',
    ),
  ),
  priority: fc.integer({ min: -5, max: 5 }),
  after: fc.array(fc.nat(20), { maxLength: 3 }),
  parent: fc.option(fc.nat(20), { freq: 2 }),
  labels: fc.subarray(['api', 'ui', 'später']),
  acceptance: fc.array(titled, { maxLength: 2 }),
  max_retries: fc.constantFrom(undefined, 0, 3, 7),
  over: fc.constantFrom(undefined, undefined, 'done' as const, 'failed' as const, 'cancelled' as const),
})

test('what is exported in any form is imported as the same tasks', async t => {
  const graph = await openGraph(t)
  let round = 0
  const property = fc.asyncProperty(fc.array(A_TASK, { minLength: 1, maxLength: 8 }), async wanted => {
    const project = `/p${round++}`
    const ids: string[] = []
    for (const { over, after, parent, ...task } of wanted) {
      const pick = (index: number | null) => (index === null ? undefined : ids[index % Math.max(ids.length, 1)])
      const request = {
        ...task,
        text: cleanText(task.text),
        project,
        after: after.flatMap(index => pick(index) ?? []),
        parent: pick(parent),
      }
      const added = await graph
        .add(titleOf(task.title), { ...request, title: titleOf(task.title) })
        .catch(() => undefined)
      if (!added) continue
      ids.push(added.id)
    }
    for (const [index, { over }] of wanted.entries()) {
      const id = ids[index]
      if (over && id) await graph.say({ id }, { to: over }).catch(() => undefined)
    }
    const before = await graph.tasks.list({ project })
    const known = (tasks: typeof before) => writeTasks(tasks, 'jsonl')
    for (const format of TASK_FORMATS) {
      const text = writeTasks(before, format)
      const over = await imported(graph, text, format, { project, update: true })
      assert.deepEqual([over.added, over.updated], [[], []], `imported over itself:\n${text}`)
      assert.equal(sorted(known(await graph.tasks.list({ project }))), sorted(known(before)), 'nothing is changed')
      for (const task of before) await graph.say(task, { to: 'cancelled' }).catch(() => undefined)
      await graph.store.transaction(tx =>
        graph.store.tasks.remove(
          before.map(({ id }) => id),
          tx,
        ),
      )
      await imported(graph, text, format, { project })
      const after = await graph.tasks.list({ project })
      assert.equal(sorted(known(after)), sorted(known(before)), `${format}:\n${text}`)
    }
  })
  await fc.assert(property, { numRuns: 40 })
})

test('a check-list by hand: boxes are tasks, what is under them text and parts, all else is no task', async t => {
  const graph = await openGraph(t)
  const text = `# Plan
Some words. - [ ] not at the beginning

- [ ] Build the API
  with care

  \`\`\`sh
  - [ ] in a code block
  \`\`\`
  - [x] Design
  - [ ] Code <!-- task: {"priority":5,"labels":["api"]} -->
* [X] Old
1. [-] Dropped
- plain item
`
  await imported(graph, text, 'markdown')
  assert.deepEqual(await graph.states(), {
    'Build the API': 'blocked',
    Design: 'done',
    Code: 'ready',
    Old: 'done',
    Dropped: 'cancelled',
  })
  const [api, design, code] = await graph.tasks.list({ project: '/p' })
  assert.match(api?.description ?? '', /^with care\n\n```sh\n- \[ \] in a code block\n```$/)
  assert.deepEqual([design?.parent_id, code?.parent_id, code?.priority, code?.labels], [api?.id, api?.id, 5, ['api']])
})

test('a box in a code block of its own is an example and no task; a block that never ends is named, not obeyed', async () => {
  const text = '- [ ] one\n\n```md\n- [ ] an example\n```\n\n~~~\n```\n- [x] another\n~~~\n\n- [ ] two\n'
  const titles = (await readTasks(text, 'markdown', 'plan.md')).map(({ title }) => title)
  assert.deepEqual(titles, ['one', 'two'])
  const open = '# Plan\n\n```\n\n- [ ] one\n- [ ] two\n'
  await assert.rejects(
    readTasks(open, 'markdown', 'plan.md'),
    /line 3, column 1: the code block that begins here is never closed/,
  )
  assert.equal((await readTasks('- [ ] one\n\n```\nnothing\n', 'markdown', 'plan.md')).length, 1)
})

const FORGIVING: [string, string][] = [
  [
    'bullets',
    '# Books\n\n- Validate ISBN numbers\n  with check digits\n  - as in the standard\n- Import (after: Validate ISBN numbers)\n',
  ],
  ['numbers', '1. Validate ISBN numbers\n   with check digits\n   - as in the standard\n2) Import (after: 1)\n'],
  [
    'boxes',
    '- [ ] Validate ISBN numbers\n  with check digits\n  - as in the standard\n- [ ] Import (After: validate isbn  numbers)\n',
  ],
  [
    'sections',
    '## Constraints\n- no network\n\n## Tasks\n* Validate ISBN numbers\n  with check digits\n  - as in the standard\n* Import (depends on: 1, and nothing else)\n'.replace(
      '1, and nothing else',
      'Validate ISBN numbers',
    ),
  ],
  [
    'ids',
    '- Import (after: isbn)\n- Validate ISBN numbers <!-- task: {"id":"isbn"} -->\n  with check digits\n  - as in the standard\n',
  ],
]
for (const [form, text] of FORGIVING) {
  test(`a plan by hand is understood: ${form}`, async t => {
    const graph = await openGraph(t)
    await imported(graph, text, 'markdown', { update: true })
    assert.deepEqual(await graph.states(), { 'Validate ISBN numbers': 'ready', Import: 'blocked' })
    const tasks = await graph.tasks.list({ project: '/p' })
    const isbn = tasks.find(({ title }) => title === 'Validate ISBN numbers')
    assert.equal(isbn?.description, 'with check digits\n- as in the standard')
    assert.deepEqual(tasks.find(({ title }) => title === 'Import')?.after, [isbn?.id])
  })
}

test('several names, titles with commas, tasks of the project, and YAML without lists are understood', async t => {
  const graph = await openGraph(t)
  const there = await graph.add('Old, and done')
  const text =
    '- A\n- B, with care\n- C and D\n- E (after: B, with care)\n- F (after: A, C and D)\n- G (after: a and C and D)\n' +
    '- H (after A, C and D)\n- I (needs: H)\n- Clean up (after lunch)\n'
  const ids = async () => new Map((await graph.tasks.list({ project: '/p' })).map(({ title, id }) => [title, id]))
  await imported(graph, text, 'markdown', { update: true })
  const yaml = 'tasks:\n  - id: 1\n    title: X\n  - title: Y\n    after: 1\n  - title: Z\n    after: Old, and done\n'
  await imported(graph, yaml, 'yaml', { update: true })
  const known = await ids()
  const after = async (title: string) =>
    (await graph.tasks.list({ project: '/p' })).find(task => task.title === title)?.after.toSorted()
  const named = (...titles: string[]) => titles.map(title => known.get(title)).toSorted()
  assert.deepEqual(await after('E'), named('B, with care'))
  assert.deepEqual(await after('F'), named('A', 'C and D'))
  assert.deepEqual(await after('G'), named('A', 'C and D'))
  assert.deepEqual(await after('H'), named('A', 'C and D'), 'the colon may be missing')
  assert.deepEqual(await after('I'), named('H'))
  assert.deepEqual(await after('Clean up (after lunch)'), [], 'no task has that name')
  assert.deepEqual(await after('Y'), named('X'))
  assert.deepEqual(await after('Z'), [there.id])
})

test('importing a file again updates what is open, by id, by name or by title, and doubles nothing', async t => {
  const graph = await openGraph(t)
  const plan = '- A <!-- task: {"id":"a"} -->\n- B (after: a)\n- C\n'
  const first = await imported(graph, plan, 'markdown', { update: true })
  assert.equal(first.added.length, 3)
  const again = await imported(graph, plan, 'markdown', { update: true })
  assert.deepEqual([again.added.length, again.updated.length, again.same.length], [0, 0, 3], 'nothing changes')
  const [a, b, c] = await graph.tasks.list({ project: '/p' })
  assert.ok(a && b && c)
  await graph.say(c, { to: 'done' })
  // The name is kept though the title changes; the order is reversed; one is new; one is over.
  const changed = `- A2 (after: B) <!-- task: {"id":"a","priority":3} -->\n- B <!-- task: {"id":"${b.id}","after":[]} -->\n  now with words\n- C\n  more\n- D (after: a)\n`
  const result = await imported(graph, changed, 'markdown', { update: true })
  assert.deepEqual(
    [result.added, result.updated, result.over, result.byTitle].map(tasks => tasks.map(({ title }) => title)),
    [['D'], ['B', 'A2'], ['C'], []],
  )
  const now = new Map((await graph.tasks.list({ project: '/p' })).map(task => [task.title, task]))
  assert.deepEqual(
    [now.size, now.get('A2')?.id, now.get('A2')?.priority, now.get('A2')?.description],
    [4, a.id, 3, 'A2'],
  )
  assert.deepEqual(
    [now.get('A2')?.after, now.get('B')?.after, now.get('B')?.description],
    [[b.id], [], 'now with words'],
  )
  assert.deepEqual([now.get('C')?.state, now.get('C')?.description], ['done', 'C'])
  const titled = await imported(graph, '- [ ] b\n  by title\n- [x] D\n', 'markdown', { update: true })
  assert.deepEqual(
    titled.byTitle.map(({ id, state }) => [id, state]),
    [
      [b.id, 'ready'],
      [now.get('D')?.id, 'done'],
    ],
  )
  assert.equal((await imported(graph, '- B\n', 'markdown', { update: true, copy: true })).added.length, 1)
})

test('every field that people set is exported, and a second import changes it', async t => {
  // A value for each field: the compiler asks for the one that is new.
  const fields: Record<keyof typeof UpdateTask.shape, [unknown, unknown]> = {
    title: ['A', 'B'],
    description: ['words', 'other words'],
    priority: [1, 2],
    feature: ['f', 'g'],
    type: ['bug', 'chore'],
    labels: [['api'], ['ui']],
    acceptance: [['it works'], ['it works well']],
    paths: [['src'], ['docs']],
    max_retries: [1, 2],
    model: ['m', 'n'],
    budget: [{ turns: 1 }, { turns: 2 }],
    parent: [undefined, undefined],
  }
  const given = (at: 0 | 1) => Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, values[at]]))
  const graph = await openGraph(t)
  for (const at of [0, 1] as const) {
    await imported(graph, JSON.stringify({ id: 'same', ...given(at) }), 'jsonl', { update: true })
    const exported = JSON.parse(writeTasks(await graph.tasks.list({ project: '/p' }), 'jsonl'))
    for (const [name, values] of Object.entries(fields)) assert.deepEqual(exported[name], values[at], name)
  }
})

test('a task is found by its id in the file: in its own project first, and before the beginning of an id', async t => {
  const graph = await openGraph(t)
  await imported(graph, '{"id":"isbn","title":"mine"}\n{"id":"a","title":"short"}', 'jsonl', { update: true })
  await imported(graph, '{"id":"isbn","title":"theirs"}', 'jsonl', { update: true, project: '/q' })
  const title = async (ref: string, project?: string) => (await graph.tasks.find(ref, undefined, project)).title
  assert.deepEqual(
    [await title('isbn', '/p'), await title('isbn', '/q'), await title('/q#isbn')],
    ['mine', 'theirs', 'theirs'],
  )
  assert.equal(await title('/p#a'), 'short')
  await assert.rejects(graph.tasks.find('isbn'), { code: 'task_ambiguous' })
  const exported = writeTasks(await graph.tasks.list({ project: '/p' }), 'markdown')
  await imported(graph, exported.replaceAll(/"id":"t-[0-9a-f]+",/g, ''), 'markdown', { update: true, project: '/r' })
  assert.equal(await title('isbn', '/r'), 'mine', 'the name is part of what is exported')
  assert.equal((await graph.add('later', { after: ['isbn'] })).state, 'blocked')
})

test('the YAML of requirements files is understood', async t => {
  const graph = await openGraph(t)
  const text =
    'project: x\ntasks:\n  - id: db\n    title: Schema\n    done: true\n  - name: API\n    depends_on: [db]\n  - Only a title\n'
  await imported(graph, text, 'yaml')
  assert.deepEqual(await graph.states(), { Schema: 'done', API: 'ready', 'Only a title': 'ready' })
})

test('a file that is wrong is refused as a whole, with the line', async t => {
  const graph = await openGraph(t)
  const there = await graph.add('there')
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
    .split('')
    .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefg'[index]}`).join(',')}]`)
    .join('\n')}\ntasks:\n  - title: t\n    labels: *h\n`
  const cases: [TaskFormat, string, RegExp][] = [
    ['jsonl', '{"title":"a","id":"x"}\n\n{"title":"b","id":"x"}', /line 3, column 1: "x" is the id of line 1 already/],
    ['jsonl', '{"title":"a"}\nnonsense', /line 2, column 1: this is not JSON/],
    ['jsonl', '{\n  "name": "shop"\n}\n', /line 1, column 1: this is one JSON value over several lines/],
    ['jsonl', '{"title":"a","prio":1}', /line 1, column 1: .*prio/],
    ['jsonl', '{"title":"\\u0007 \\u001b[2J"}', /line 1, column 1: title/],
    ['jsonl', '{"title":"a","after":["nowhere"]}', /line 1, column 1: no task has the id or title "nowhere"/],
    ['markdown', '# P\n\n- One\n- Two (after: Onn)', /line 4, column 7: no task has the id or title "Onn"/],
    ['markdown', '- One\n- Two (after: two)', /line 2, column 7: a task cannot come after itself/],
    ['yaml', 'tasks:\n  - titel: A\n', /line 2, column 5: there is no field "titel"; title: it is missing/],
    ['markdown', '- [ ] A\n- [ ] B (after: A', /line 2, column 9: what a task comes after stands at the end/],
    ['markdown', '- A\n- B (needs: A) soon', /line 2, column 5: what a task comes after stands at the end/],
    ['markdown', '- A\n- B (after: )', /line 2, column 5: it names no task/],
    [
      'jsonl',
      '{"title":"a","id":"a","after":["b"]}\n{"title":"b","id":"b","after":["a"]}',
      /wait for one another: a → b → a/,
    ],
    ['jsonl', '{"title":"a","id":"a","after":["a"]}', /wait for one another: a → a/],
    ['yaml', bomb, /Excessive alias count/],
    ['yaml', 'tasks:\n  - title: a\n    title: b\n', /line 3, column 5: .*unique/],
    ['yaml', 'nothing: here', /line 1, column 1: there is no list of tasks/],
    ['yaml', 'tasks: []', /line 1, column 1: there is no task in it; write "tasks:"/],
    ['markdown', '# Plan\n\nOnly words.\n', /line 1, column 1: there is no task in it; .*- \[ \] Build the API/],
    ['markdown', '- [ ] fine\n- [ ] a <!-- task: {id:a -->', /line 2, column 9: this comment is not of the form/],
    ['markdown', '- a <!-- task: {"id":"a"} --> b', /line 1, column 5: this comment/],
    ['markdown', '- [ ] a\n  <!-- task: {"id":"a"} -->', /line 2, column 3: a comment .* stands at the end/],
    ['markdown', '- A\n- a\n- B (after: A)', /line 3, column 5: "A" may be each of the lines 1, 2: give it an id/],
    ['markdown', '- [ ] a <!-- task: {oops} -->', /line 1, column 9: the text in .* is not JSON/],
    ['jsonl', JSON.stringify({ title: 'again', id: there.id }), /Tasks with these ids already exist/],
  ]
  for (const [format, text, message] of cases) {
    const error = await imported(graph, text, format).then(
      () => assert.fail(`taken: ${text.slice(0, 60)}`),
      (thrown: AppError) => thrown,
    )
    assert.match(error.message, message)
    assert.match(error.message, /Nothing was imported/)
  }
  assert.deepEqual(await graph.states(), { there: 'ready' })
  const {
    added: [copy],
  } = await imported(graph, JSON.stringify({ title: 'again', id: there.id }), 'jsonl', { copy: true })
  assert.notEqual(copy?.id, there.id)
})

test('fifty thousand lines of Markdown are read at once or refused at once, and a chain of thousands is no circle', async t => {
  const many = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n')
  const words = await readTasks(
    many(50_000, index => (index % 10 === 0 ? `- [ ] task ${index}` : '  some words')),
    'markdown',
    'f',
  )
  assert.equal(words.length, 5_000)
  await assert.rejects(
    readTasks(
      many(50_000, index => `- [ ] task ${index}`),
      'markdown',
      'f',
    ),
    {
      code: 'tasks_wrong',
      message: new RegExp(`there are 50000 tasks; ${MAX_IMPORTED} can be imported at once`),
    },
  )
  const deep = many(3_000, index => `${' '.repeat(index)}- [ ] task ${index}`)
  assert.equal((await readTasks(deep, 'markdown', 'f')).length, 3_000)
  const graph = await openGraph(t)
  const chain = many(1_000, index =>
    JSON.stringify({ id: `n${index}`, title: `n${index}`, after: index < 999 ? [`n${index + 1}`] : [] }),
  )
  await imported(graph, chain, 'jsonl')
  const states = Object.values(await graph.states())
  assert.deepEqual([states.length, states.filter(state => state === 'ready').length], [1_000, 1])
})

test('control characters are left out of what is imported, and letters of all scripts stay', async () => {
  const text = JSON.stringify({
    title: 'Bell\u0007 \u001b[31mred\u001b[0m \u202eevil\n日本語 🎉',
    description: 'a\u0000b\tc\r\nd\u009b',
  })
  const [task] = await readTasks(text, 'jsonl', 'f')
  assert.deepEqual([task?.title, task?.description], ['Bell red evil 日本語 🎉', 'ab\tc\nd'])
})

function titleOf(title: string): string {
  return title.replace(/\p{C}/gu, '').replace(/\s+/g, ' ').trim() || 'x'
}

function sorted(text: string): string {
  return text.split('\n').sort().join('\n')
}
