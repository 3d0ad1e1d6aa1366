import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import {
  documentPath,
  featureDirectory,
  readDocument,
  removeDocuments,
  writeDocument,
} from '../../../src/tasks/features/files.ts'
import { tasksOfPlan } from '../../../src/tasks/features/tasks-of-plan.ts'
import { tempDir } from '../../support/world.ts'

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
    await assert.rejects(tasksOfPlan(plan, home), isCode('no_plan'))
  }
  const tasks = await tasksOfPlan('# Plan\n- [ ] Buy paint\n  two cans\n- [x] Think\n', home)
  assert.deepEqual(
    tasks.map(({ title, description, state }) => [title, description, state]),
    [
      ['Buy paint', 'two cans', undefined],
      ['Think', undefined, 'done'],
    ],
  )
})
