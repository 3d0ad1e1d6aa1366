import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import type { ImportedTask } from '../../src/domain/task-requests.ts'
import {
  addToDraft,
  type DraftResult,
  documentPath,
  featureDirectory,
  linkInDraft,
  MAX_DRAFTED_TASKS,
  readDocument,
  readPlanTasks,
  removeDocuments,
  writeDocument,
} from '../../src/tasks/features.ts'
import { tempDir } from '../support/world.ts'

const isCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

test('a document is written once: what a person has there meanwhile stays', async t => {
  const home = { project: tempDir(t), name: 'paint' }
  assert.equal(await readDocument(home, 'spec'), undefined)
  assert.equal(await writeDocument(home, 'spec', 'one\n'), true)
  writeFileSync(documentPath(home, 'spec'), 'mine\n')
  assert.equal(await writeDocument(home, 'spec', 'two\n'), false)
  assert.equal(await readDocument(home, 'spec'), 'mine\n')
  assert.deepEqual(readdirSync(featureDirectory(home)), ['spec.md'], 'nothing is left beside it')
})

test('a link in the project leads neither a reader nor a writer out of it', async t => {
  const [project, outside] = [tempDir(t), tempDir(t)]
  writeFileSync(join(outside, 'key'), 'secret')
  mkdirSync(join(project, '.perpetualcc/features/a'), { recursive: true })
  symlinkSync(join(outside, 'key'), join(project, '.perpetualcc/features/a/spec.md'))
  symlinkSync(outside, join(project, '.perpetualcc/features/b'))
  await assert.rejects(readDocument({ project, name: 'a' }, 'spec'), isCode('feature_file'))
  await assert.rejects(writeDocument({ project, name: 'b' }, 'spec', 'text'), isCode('feature_file'))
  await assert.rejects(removeDocuments({ project, name: 'b' }), isCode('feature_file'))
  assert.equal(await writeDocument({ project, name: 'a' }, 'spec', 'text'), false, 'not through it either')
  assert.equal(readFileSync(join(outside, 'key'), 'utf8'), 'secret')
  assert.deepEqual(readdirSync(outside), ['key'])
})

test('removing takes the spec and the plan, and nothing that a person laid beside them', async t => {
  const home = { project: tempDir(t), name: 'paint' }
  await writeDocument(home, 'spec', 'text')
  await writeDocument(home, 'plan', 'text')
  writeFileSync(join(featureDirectory(home), 'sketch.svg'), 'mine')
  await removeDocuments(home)
  assert.deepEqual(readdirSync(featureDirectory(home)), ['sketch.svg'])
})

test('a plan without tasks is told apart from one with them', async t => {
  const home = { project: tempDir(t), name: 'paint' }
  for (const plan of [undefined, '# Plan\n\nWe paint.\n', '- paint\n']) {
    await assert.rejects(readPlanTasks(plan, home), isCode('no_plan'))
  }
  const tasks = await readPlanTasks('# Plan\n- [ ] Buy paint\n  two cans\n- [x] Think\n', home)
  assert.deepEqual(
    tasks.map(({ title, description, state }) => [title, description, state]),
    [
      ['Buy paint', 'two cans', undefined],
      ['Think', undefined, 'done'],
    ],
  )
})

function made(drafted: DraftResult): Exclude<DraftResult, { refused: string }> {
  assert.ok('draft' in drafted, JSON.stringify(drafted))
  return drafted
}

function refusalOf(drafted: DraftResult): string {
  assert.ok('refused' in drafted)
  return drafted.refused
}

test('a task is named by its id or its title, and the same title again is the same task', () => {
  const one = made(addToDraft([], { title: 'Dig' }))
  const two = made(addToDraft(one.draft, { title: 'Build', after: ['Dig'] }))
  const three = made(addToDraft(two.draft, { title: 'Paint', after: [two.id, one.id, 'Build'] }))
  assert.deepEqual(
    three.draft.map(({ title, after = [] }) => [title, after]),
    [
      ['Dig', []],
      ['Build', [one.id]],
      ['Paint', [two.id, one.id]],
    ],
  )
  const again = made(addToDraft(three.draft, { title: 'Build', description: 'other words' }))
  assert.deepEqual([again.id, again.isNew, again.draft.length], [two.id, false, 3])
})

test('what does not exist, and what would wait for itself, is refused with what there is', () => {
  const one = made(addToDraft([], { title: 'Dig' }))
  const two = made(addToDraft(one.draft, { title: 'Build', after: ['Dig'] }))
  assert.match(
    refusalOf(addToDraft(two.draft, { title: 'Paint', after: ['t-000000'] })),
    /"t-000000".*\(Dig\).*\(Build\)/,
  )
  assert.match(refusalOf(linkInDraft(two.draft, { task: 'Dig', after: 'Build' })), /would wait for itself/)
  assert.match(refusalOf(linkInDraft(two.draft, { task: 'Dig', after: 'Dig' })), /would wait for itself/)
  assert.match(refusalOf(linkInDraft(two.draft, { task: 'Dig', after: 'Nothing' })), /"Nothing"/)
})

test('a new link looks at each task once, however many ways lead to it', () => {
  let looks = 0
  const layers = Array.from({ length: 15 }, (_, layer) => ['a', 'b'].map(side => `${side}${layer}`))
  const draft: ImportedTask[] = layers.flatMap((ids, layer) =>
    ids.map(id => ({
      id,
      title: id,
      get after() {
        looks++
        return layers[layer - 1] ?? []
      },
    })),
  )
  const linked = linkInDraft([...draft, { id: 'new', title: 'New' }], { task: 'new', after: 'a14' })
  assert.equal(looks, draft.length - 1, 'all but the one beside it')
  assert.deepEqual(made(linked).draft.at(-1)?.after, ['a14'])
})

test('a plan has a most, and who wants more is told so', () => {
  let draft: ImportedTask[] = []
  for (let count = 0; count < MAX_DRAFTED_TASKS; count++)
    draft = made(addToDraft(draft, { title: `task ${count}` })).draft
  assert.match(refusalOf(addToDraft(draft, { title: 'one more' })), /300 is the most/)
  assert.equal(made(addToDraft(draft, { title: 'task 7' })).isNew, false, 'one that is there is no more')
})
