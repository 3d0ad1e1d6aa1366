import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { touchedTests } from '../../scripts/testing/changed.ts'
import { commitAll, gitProject } from '../support/world.ts'

const FILES = {
  'bin/pcc.js': "import('../src/cli/main.ts')",
  'src/cli/main.ts': "import '../a/one.ts'",
  'src/a/one.ts': "export * from './deep.ts'",
  'src/a/deep.ts': '',
  'src/daemon/serve.ts': '',
  'test/support/program.ts': [
    "export const BIN = builtOr('bin/pcc.js')",
    "export const DAEMON_SCRIPT = builtOr('test/daemon/run-daemon.ts')",
  ].join('\n'),
  'test/daemon/run-daemon.ts': "import '../../src/daemon/serve.ts'",
  'test/a/one.test.ts': "import '../../src/a/one.ts'",
  'test/a/reads.test.ts': "new URL('fixtures/named.json', import.meta.url)",
  'test/a/templates.test.ts': 'new URL(`fixtures/${name}.yaml`, import.meta.url)',
  'test/a/fixtures/named.json': '{}',
  'test/a/fixtures/one.yaml': '{}',
  'test/b/helper.ts': "import { BIN } from '../support/program.ts'",
  'test/b/command.test.ts': "import './helper.ts'",
  'test/daemon/daemon.test.ts': "import { DAEMON_SCRIPT } from '../support/program.ts'",
  'test/listed/cases/one.txt': 'one',
  'test/listed/cases.test.ts': 'readdirSync(cases)',
  'test/house/package.test.ts': '',
  'test/house/tree.test.ts': '',
}
const TESTS = Object.keys(FILES).filter(path => path.endsWith('.test.ts'))

/** Makes a committed checkout with one change, and returns the affected tests and the line about them. */
function touchedBy(t: TestContext, change: (root: string) => void) {
  const root = gitProject(t, FILES)
  change(root)
  const { files, told } = touchedTests(root, TESTS)
  return { files: files.filter(file => file !== 'test/house/tree.test.ts'), told }
}

const writing = (path: string) => (root: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), '// changed\n')
}

test('a source file affects its direct and indirect importers, then tests that start a program containing it', t => {
  const { files, told } = touchedBy(t, writing('src/a/deep.ts'))
  assert.deepEqual(files, ['test/a/one.test.ts', 'test/b/command.test.ts', 'test/house/package.test.ts'])
  assert.equal(
    told,
    '1 file changed since HEAD, which can touch 4 of 8 test files: 1 stand beside it, 2 start the program, 1 look at the whole checkout',
  )
})

test('a test is affected by the program it starts: a module of the daemon alone does not affect the command line', t => {
  const { files } = touchedBy(t, writing('src/daemon/serve.ts'))
  assert.deepEqual(files, ['test/daemon/daemon.test.ts', 'test/house/package.test.ts'])
})

test('a deleted file affects its importers', t => {
  const { files } = touchedBy(t, root => rmSync(join(root, 'src/a/deep.ts')))
  assert.ok(files.includes('test/a/one.test.ts'))
})

test('a data file affects the tests that name it, also by a template, and else the tests beside it', t => {
  assert.deepEqual(touchedBy(t, writing('test/a/fixtures/named.json')).files, ['test/a/reads.test.ts'])
  assert.deepEqual(touchedBy(t, writing('test/a/fixtures/one.yaml')).files, ['test/a/templates.test.ts'])
  assert.deepEqual(touchedBy(t, writing('test/listed/cases/one.txt')).files, ['test/listed/cases.test.ts'])
})

test('untracked files count, including new tests; committed changes count since an older commit', t => {
  assert.deepEqual(touchedBy(t, writing('test/b/helper.ts')).files, ['test/b/command.test.ts'])
  const root = gitProject(t, FILES)
  writing('test/a/one.test.ts')(root)
  commitAll(root, 'second')
  assert.deepEqual(touchedTests(root, TESTS), { files: [], told: 'nothing changed since HEAD: no test to run' })
  const { files } = touchedTests(root, TESTS, 'HEAD~1')
  assert.deepEqual(files, ['test/a/one.test.ts', 'test/house/tree.test.ts'])
})

test('a file on which every test depends affects all of them', t => {
  const { told } = touchedBy(t, writing('package-lock.json'))
  assert.equal(told, '1 file changed since HEAD, with package-lock.json, which every test depends on: all run')
})
