import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImportedTask } from '../../../src/domain/tasks/requests.ts'
import { addToDraft, type Drafted, linkInDraft, MOST_DRAFTED } from '../../../src/tasks/features/draft.ts'

function made(drafted: Drafted): Exclude<Drafted, { refused: string }> {
  assert.ok('draft' in drafted, JSON.stringify(drafted))
  return drafted
}

function refusalOf(drafted: Drafted): string {
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

test('a plan has a most, and who wants more is told so', () => {
  let draft: ImportedTask[] = []
  for (let count = 0; count < MOST_DRAFTED; count++) draft = made(addToDraft(draft, { title: `task ${count}` })).draft
  assert.match(refusalOf(addToDraft(draft, { title: 'one more' })), /300 is the most/)
  assert.equal(made(addToDraft(draft, { title: 'task 7' })).isNew, false, 'one that is there is no more')
})
