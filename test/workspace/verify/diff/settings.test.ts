import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { defaultValues, nestValues } from '../../../../src/domain/config/settings.ts'
import { diffSettingsIn } from '../../../../src/workspace/verify/diff/change.ts'
import { diffFindings } from '../../../../src/workspace/verify/diff/diff-findings.ts'
import { repository, type Tree } from './repository.ts'

test('more lines than gates.max_changed_lines stand in the way, and 0 is no bound', async t => {
  const many = { 'src/a.ts': 'a\n'.repeat(40), 'package-lock.json': 'x\n'.repeat(4_000) }
  assert.deepEqual(await codes(t, many, { 'gates.max_changed_lines': 39 }), ['diff.size', 'path.lock'])
  assert.deepEqual(await codes(t, many, { 'gates.max_changed_lines': 40 }), ['path.lock'])
  assert.deepEqual(await codes(t, many, { 'gates.max_changed_lines': 0 }), ['path.lock'])
})

test('gates.forbidden_paths takes names, folders and patterns', async t => {
  const files = { 'deploy/prod/a.yaml': 'a', 'db/migrations/1.sql': 'a', 'src/a.ts': 'a' }
  const forbidden = async (pattern: string) =>
    (await found(t, files, { 'gates.forbidden_paths': [pattern] })).map(({ code, file }) => `${code} ${file}`)
  assert.deepEqual(await forbidden('deploy/'), ['path.forbidden deploy/prod/a.yaml'])
  assert.deepEqual(await forbidden('deploy/**'), ['path.forbidden deploy/prod/a.yaml'])
  assert.deepEqual(await forbidden('*.sql'), ['path.forbidden db/migrations/1.sql'])
  assert.deepEqual(await forbidden('src/a.ts'), ['path.forbidden src/a.ts'])
  assert.deepEqual(await forbidden('a.ts'), ['path.forbidden src/a.ts'])
  assert.deepEqual(await forbidden('other'), [])
})

test('gates.allow lets a finding pass, everywhere or in the files that it names', async t => {
  const files = { '.github/workflows/a.yml': 'on: push', '.github/workflows/b.yml': 'on: push' }
  assert.deepEqual(await codes(t, files, {}), ['path.ci', 'path.ci'])
  assert.deepEqual(await codes(t, files, { 'gates.allow': ['path.ci'] }), [])
  const some = await found(t, files, { 'gates.allow': ['path.ci:.github/workflows/a.yml', 'path.guard'] })
  assert.deepEqual(
    some.map(({ file }) => file),
    ['.github/workflows/b.yml'],
  )
})

type Said = Partial<ReturnType<typeof defaultValues>>

async function found(t: TestContext, files: Tree, said: Said) {
  const { directory, commit } = repository(t)
  const base = commit({ 'README.md': 'a' })
  const head = commit(files)
  const settings = diffSettingsIn(nestValues({ ...defaultValues(), ...said }))
  return diffFindings({ directory, base, head, settings })
}

async function codes(t: TestContext, files: Tree, said: Said): Promise<string[]> {
  return (await found(t, files, said)).map(({ code }) => code)
}
