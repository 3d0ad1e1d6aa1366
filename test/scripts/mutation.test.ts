import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MutantRunStatus } from '@stryker-mutator/api/test-runner'
import { RepeatingRunner } from '../../scripts/mutation/stryker/runner.ts'
import { ignoreData } from '../../scripts/mutation/stryker/tables.ts'
import { tempDir } from '../support/world.ts'

/** A source as Stryker instruments it: mutant 1 is in a table, which is built once; mutant 2 is in a function. */
const SOURCE = `
const active = (id: string) => (globalThis as any).__stryker__?.activeMutant === id
const table: string[] = active('1') ? [] : ['rm']
export const isKnown = (name: string): boolean => (active('2') ? true : table.includes(name))
`
const TESTS = `
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKnown } from './source.ts'
test('rm is known', () => assert.ok(isKnown('rm')))
test('ls is not', async t => {
  t.after(() => { (globalThis as any).undone = true })
  assert.ok(!isKnown('ls'))
})
`

function runner(t: TestContext): RepeatingRunner {
  const root = tempDir(t)
  const before = process.cwd()
  process.chdir(root)
  t.after(() => process.chdir(before))
  writeFileSync(join(root, 'source.ts'), SOURCE)
  writeFileSync(join(root, 'source.test.ts'), TESTS)
  const groups = [{ tests: '*.test.ts', of: 'source' }]
  return new RepeatingRunner({ repeating: groups } as unknown as ConstructorParameters<typeof RepeatingRunner>[0])
}
const mutant = (id: string, kind: 'static' | 'runtime', fileName = 'source.ts') => ({
  activeMutant: {
    id,
    fileName,
    mutatorName: 'x',
    replacement: 'x',
    location: { start: { line: 1, column: 1 }, end: { line: 1, column: 1 } },
  },
  mutantActivation: kind,
  reloadEnvironment: kind === 'static',
  sandboxFileName: fileName,
  timeout: 1000,
  disableBail: false,
})

test('mutants are killed one after another in one process; for those in tables, the tables are built again', async t => {
  const tried = runner(t)
  const dry = await tried.dryRun()
  assert.deepEqual(dry.status === 'complete' && dry.tests.map(({ name, status }) => `${name}: ${status}`), [
    'rm is known: 0',
    'ls is not: 0',
  ])
  const outcome = async (...[id, kind, file]: Parameters<typeof mutant>) => {
    const result = await tried.mutantRun(mutant(id, kind, file))
    return result.status === MutantRunStatus.Killed ? `killed by ${result.killedBy}` : result.status
  }
  assert.equal(await outcome('2', 'runtime'), 'killed by 1')
  assert.equal(await outcome('0', 'runtime'), 'survived')
  assert.equal(await outcome('1', 'runtime'), 'survived', 'the table was made before')
  assert.equal(await outcome('1', 'static'), 'killed by 0')
  assert.equal(await outcome('0', 'static'), 'survived', 'nothing of the mutant before is left')
  assert.equal(await outcome('2', 'runtime', 'other.ts'), 'survived', 'these tests are not for that file')
  assert.equal((globalThis as { undone?: boolean }).undone, true)
})

test('words in lists and sentences are data, other strings are mutated', () => {
  const string = (value: string) => ({ type: 'StringLiteral', value })
  const list = (...words: string[]) => ({ type: 'ArrayExpression', elements: words.map(string) })
  const ignored = (node: object, parent: object = { type: 'CallExpression' }) =>
    ignoreData({ node, parent }) !== undefined
  assert.ok(ignored(string('-f'), list('-f', '--force')))
  assert.ok(!ignored(list('-f', '--force')), 'a whole list is emptied all the same')
  assert.ok(!ignored(string('-f'), list('-f')))
  assert.ok(!ignored(string('-f'), { type: 'ArrayExpression', elements: [string('-f'), { type: 'Identifier' }] }))
  assert.ok(ignored(string('rm deletes files')))
  assert.ok(!ignored(string('file.delete')))
  assert.ok(ignored(string('-a --all -k:')))
  assert.ok(!ignored(string('-a')))
  assert.ok(!ignored(string(' ')))
  const template = (...quasis: string[]) => ({
    type: 'TemplateLiteral',
    quasis: quasis.map(cooked => ({ value: { cooked } })),
  })
  assert.ok(ignored(template('', ' deletes files')))
  assert.ok(ignored(template('', ' is ', '')))
  assert.ok(!ignored(template('', '/', '')))
  assert.ok(!ignored(template('', ' ', '')))
})
