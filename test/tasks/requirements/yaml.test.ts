import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequirements } from '../../../src/tasks/requirements/requirements.ts'
import { openTexts, refusedFor } from './a-file.ts'

const read = async (text: string) => (await parseRequirements('r.yaml', text)).requirements
const refused = (text: string) => refusedFor('r.yaml', text)

test("the manual's YAML is read, and values are taken as they are written", async () => {
  const found = await read(`project: Notes API
description: |
  A small API
  for notes.
tasks:
  - id: 007
    description: Build the API
    priority: 5
    depends_on: [schema]
  - id: schema
    description: Design the schema
    priority: high
  - Write the README
  - { id: ci, description: Set up CI, done: true }
preferences:
  python: 3.10
  docker: false
  tests: true
  backend: { database: PostgreSQL, caches: [Redis, Valkey] }
  avoid: [MySQL, Mongo]
constraints:
  - Must run offline
  - Forbidden: eval
`)
  assert.deepEqual(found, {
    title: 'Notes API',
    overview: 'A small API\nfor notes.',
    tasks: [
      { id: '007', text: 'Build the API', done: false, priority: 5, depends_on: ['schema'], line: 6 },
      { id: 'schema', text: 'Design the schema', done: false, priority: 10, depends_on: [], line: 10 },
      { text: 'Write the README', done: false, priority: 0, depends_on: [], line: 13 },
      { id: 'ci', text: 'Set up CI', done: true, priority: 0, depends_on: [], line: 14 },
    ],
    preferences: [
      { key: 'python', value: '3.10' },
      { key: 'docker', value: 'no' },
      { key: 'tests', value: 'yes' },
      { key: 'backend database', value: 'PostgreSQL' },
      { key: 'backend caches', value: 'Redis, Valkey' },
      { key: '', value: 'avoid MySQL; avoid Mongo' },
    ],
    constraints: ['Must run offline', 'avoid eval'],
  })
})

test('a title stands over its description, and fields of the person’s own under it', async () => {
  const [task] = (await read('tasks:\n  - title: Login\n    description: With JWT\n    acceptance: [works, is fast]\n'))
    .tasks
  assert.equal(task?.text, 'Login\n\nWith JWT\n\nacceptance:\n  - works\n  - is fast')
})

test('a list alone is a list of tasks, JSON is YAML, and anchors are followed', async () => {
  assert.deepEqual(openTexts(await read('- one\n- description: two\n')), ['one', 'two'])
  assert.deepEqual(openTexts((await parseRequirements('r.json', '{"tasks": ["one"]}')).requirements), ['one'])
  const { tasks } = await read('x: &same { description: a, priority: 3 }\ntasks: [*same]\n')
  assert.deepEqual(
    tasks.map(({ text, priority }) => [text, priority]),
    [['a', 3]],
  )
})

test('a file of another kind has no tasks, preferences or constraints, and is no mistake', async () => {
  for (const text of ['openapi: 3.1.0\ninfo: { version: 1 }\npaths: {}\n', 'Just a sentence in a YAML file.\n']) {
    assert.deepEqual(await read(text), { tasks: [], preferences: [], constraints: [] })
  }
})

test('everything that is wrong is named with its line and field', async () => {
  const said = await refused(`project: [a]
tasks:
  - id: a
    descripton: q
    priority: soon
  - id: a
    description: z
    depends_on: [schemaa]
  - id: schema
    description: s
    done: maybe
`)
  for (const problem of [
    'line 1, project: it must be a text, not a list',
    'line 3, tasks.0.description: it is missing',
    'line 4, tasks.0.descripton: unknown field, did you mean description?',
    'line 5, tasks.0.priority: "soon" is not a priority: expected a whole number (higher is sooner), or critical, high',
    'line 6, tasks.1.id: "a" is the id of line 3 already',
    'line 8, tasks.1.depends_on: no task has the id "schemaa", did you mean "schema"?',
    'line 11, tasks.2.done: it must be true or false',
  ])
    assert.ok(said.includes(problem), `${problem}\n${said}`)
})

const WRONG: [text: string, problem: RegExp][] = [
  ['tasks:\n  - [ ] Foo\n', /line 2, YAML: /],
  ['tasks: [a\n', /line 2, YAML: /],
  ['a: 1\na: 2\n', /line 2, YAML: Map keys must be unique/],
  ['--- \ntasks: [a]\n---\ntasks: [b]\n', /line \d, YAML: .*multiple documents/],
  ['taks:\n  - a\n', /line 1, taks: unknown field, did you mean tasks\?/],
  ['tasks:\n  a: 1\n', /line 1, tasks: it must be a list/],
  ['tasks:\n  - a\n  -\n', /line 3, tasks\.1: it is empty/],
  ['tasks:\n  - description: ""\n', /line 2, tasks\.0\.description: it is empty/],
  ['tasks:\n  - description: a\n    priority: 1.5\n', /line 3, tasks\.0\.priority: "1\.5" is not a priority/],
  ['tasks:\n  - description: a\n    priority: 12345678\n', /line 3, tasks\.0\.priority: /],
  [
    'tasks:\n  - description: a\n    dependsOn: b\n',
    /line 3, tasks\.0\.dependsOn: unknown field, did you mean depends_on\?/,
  ],
  ['tasks:\n  - description: a\n    depends_on: b\n', /line 3, tasks\.0\.depends_on: no task has the id "b"/],
  ['preferences:\n  database:\n', /line 2, preferences\.database: it is empty/],
  ['preferences: &p\n  again: *p\n', /preferences\.again.*: it is nested more than 6 deep/],
  ['constraints:\n  - [a, b]\n', /line 2, constraints\.0: it must be a text, not a list/],
]

test('one mistake at a time is named with its line and field', async () => {
  for (const [text, problem] of WRONG) assert.match(await refused(text), problem, text)
})

test('of many mistakes the first eight are named and the others counted', async () => {
  const said = async (count: number) =>
    (await refused(Array.from({ length: count }, () => '- description: ""\n').join(''))).match(/line \d+|and .*? more/g)
  const named = Array.from({ length: 8 }, (_, index) => `line ${index + 1}`)
  assert.deepEqual(await said(8), named)
  assert.deepEqual(await said(11), [...named, 'and 3 more'])
})

test('tasks that wait for one another are refused with the lines of each', async () => {
  const cycle = `tasks:
  - { id: a, description: a, depends_on: b }
  - { id: b, description: b, depends_on: [free, c] }
  - { id: free, description: f }
  - { id: c, description: c, depends_on: b }
`
  assert.match(await refused(cycle), /r\.yaml, tasks wait for each other: b \(line 3\) → c \(line 5\) → b$/)
  assert.match(await refused('tasks:\n  - { id: a, description: a, depends_on: a }\n'), /: a \(line 2\) → a$/)
})

test('a file of more tasks than one session is given is refused', async () => {
  const list = Array.from({ length: 1_001 }, (_, index) => `- task ${index}\n`).join('')
  assert.match(await refused(list), /line 1001, tasks: there are 1001 tasks; a file may have 1000/)
})

test('a file that holds itself is refused as nested too deeply', async () => {
  assert.match(await refused('preferences: &p [*p]\n'), /r\.yaml is wrong: it is nested too deeply to be read/)
})
