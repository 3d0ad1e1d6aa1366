import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AppError } from '../../../src/base/errors.ts'
import { cleanText, MAX_IMPORTED } from '../../../src/domain/task-requests.ts'
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
  options: { project?: string; copy?: boolean } = {},
) {
  const tasks = await readTasks(text, format, 'tasks.file')
  const { project = '/p', copy = false } = options
  return graph.store.transaction(tx => importTasks(tasks, { project, copy }, { store: graph.store, clock, tx }))
}

const titled = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter(text => /[\p{L}\p{N}]/u.test(text))
const A_TASK = fc.record({
  title: fc.oneof(
    titled,
    fc.constantFrom('a <!-- task: {} --> b', '- [ ] box', '<!-- x', '[x] y', '"q": #1', 'é 漢字 🎉'),
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
      'a\n- b\n  - c',
    ),
  ),
  priority: fc.integer({ min: -5, max: 5 }),
  after: fc.array(fc.nat(20), { maxLength: 3 }),
  parent: fc.option(fc.nat(20), { freq: 2 }),
  labels: fc.subarray(['api', 'ui', 'später']),
  acceptance: fc.array(titled, { maxLength: 2 }),
  maxRetries: fc.constantFrom(undefined, 0, 3, 7),
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
    /line 3: the code block that begins here is never closed/,
  )
  assert.equal((await readTasks('- [ ] one\n\n```\nnothing\n', 'markdown', 'plan.md')).length, 1)
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
    ['jsonl', '{"title":"a","id":"x"}\n\n{"title":"b","id":"x"}', /line 3: "x" is the id of line 1 already/],
    ['jsonl', '{"title":"a"}\nnonsense', /line 2: this is not JSON/],
    ['jsonl', '{"title":"a","prio":1}', /line 1: .*prio/],
    ['jsonl', '{"title":"\\u0007 \\u001b[2J"}', /line 1: title/],
    ['jsonl', '{"title":"a","after":["nowhere"]}', /line 1: no task has the id "nowhere"/],
    [
      'jsonl',
      '{"title":"a","id":"a","after":["b"]}\n{"title":"b","id":"b","after":["a"]}',
      /wait for one another: a → b → a/,
    ],
    ['jsonl', '{"title":"a","id":"a","after":["a"]}', /wait for one another: a → a/],
    ['yaml', bomb, /Excessive alias count/],
    ['yaml', 'tasks:\n  - title: a\n    title: b\n', /line 3: .*unique/],
    ['yaml', 'nothing: here', /there is no list of tasks/],
    ['markdown', '- [ ] a <!-- task: {oops} -->', /line 1: the text in .* is not JSON/],
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
  const [copy] = await imported(graph, JSON.stringify({ title: 'again', id: there.id }), 'jsonl', { copy: true })
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
