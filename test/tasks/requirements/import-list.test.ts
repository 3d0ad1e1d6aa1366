import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImportedTask } from '../../../src/domain/task-requests.ts'
import { importedFromRequirements, parseRequirements } from '../../../src/tasks/requirements/requirements.ts'

const imported = async (path: string, text: string) =>
  importedFromRequirements({ path, text, parsed: await parseRequirements(path, text) }).map(task =>
    ImportedTask.parse(task),
  )

test('open tasks come with their order; without anything besides them there is no task above', async () => {
  const text =
    'tasks:\n  - id: a\n    description: First\n  - description: Second\n    depends_on: [a]\n    priority: high\n'
  const [first, second, ...rest] = await imported('x.yaml', text)
  assert.equal(first?.title, 'First')
  assert.equal(second?.title, 'Second')
  assert.deepEqual(second?.after, ['a'])
  assert.ok((second?.priority ?? 0) > 0)
  assert.equal(first?.id, 'a')
  assert.ok(rest.every(({ parent }) => parent === undefined))
})

test('a heading alone is nothing to tell; a preference is', async () => {
  const list = '## Tasks\n- [ ] One\n- [x] Two\n'
  assert.deepEqual(
    (await imported('x.md', list)).map(({ title, parent }) => [title, parent]),
    [['One', undefined]],
  )
  const [above, one] = await imported('x.md', `${list}\n## Preferences\n- Database: SQLite\n`)
  assert.equal(above?.title, 'x.md')
  assert.match(above?.description ?? '', /Database: SQLite/)
  assert.doesNotMatch(above?.description ?? '', /One|Two/)
  assert.equal(one?.parent, above?.id)
})

test('a file that lists nothing is one task, and a long first line is cut in the title only', async () => {
  const [whole, ...none] = await imported('idea.txt', 'Make the shop faster.\nHow is up to you.\n')
  assert.equal(none.length, 0)
  assert.equal(whole?.title, 'idea.txt')
  assert.match(whole?.description ?? '', /How is up to you/)
  const [long] = await imported('x.md', `- [ ] ${'word '.repeat(100)}\n`)
  assert.equal(long?.title.length, 200)
  assert.ok((long?.description?.length ?? 0) > 400)
})

test('what is done leaves nothing to take', async () => {
  assert.deepEqual(await imported('x.md', 'About.\n\n- [x] One\n'), [])
})
