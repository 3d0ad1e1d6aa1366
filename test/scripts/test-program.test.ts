import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ENTRIES } from '../../scripts/bundle.ts'
import { builtProgram } from '../../scripts/testing/program.ts'
import { tempDir } from '../support/world.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A checkout of the same structure: its `pcc` prints the text of its one module, and the URL that the module sees. */
function checkout(t: TestContext): { root: string; write(path: string, text: string): void } {
  const root = tempDir(t)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const path of [...ENTRIES, 'test/daemon/run-daemon.ts']) write(path, 'export {}\n')
  for (const path of ['package.json', 'package-lock.json']) write(path, '{ "type": "module", "dependencies": {} }')
  write('bin/pcc.js', "import '../src/cli/main.ts'\n")
  write('src/cli/main.ts', "import { said } from '../base/said.ts'\nconsole.log(said)\n")
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return { root, write }
}

function program(t: TestContext, root: string): string {
  const place = builtProgram(root)
  assert.ok(place !== undefined)
  t.after(() => rmSync(place, { recursive: true, force: true }))
  return place
}

const saidBy = (place: string) => execFileSync(process.execPath, [join(place, 'bin/pcc.js')], { encoding: 'utf8' })

test('the bundled program follows the source: a change builds another one, and no change reuses it', t => {
  const { root, write } = checkout(t)
  write('src/base/said.ts', "export const said: string = 'first'\n")
  const first = program(t, root)
  assert.equal(saidBy(first), 'first\n')
  assert.equal(builtProgram(root), first)
  write('src/base/said.ts', "export const said: string = 'second'\n")
  const second = program(t, root)
  assert.notEqual(second, first)
  assert.equal(saidBy(second), 'second\n')
})

test('a bundled module sees the URL of its source file', t => {
  const { root, write } = checkout(t)
  write('src/base/said.ts', 'export const said = import.meta.url\n')
  const place = program(t, root)
  assert.equal(saidBy(place), `file://${place}/src/base/said.ts\n`)
})

test('source that cannot be bundled is an error, and leaves no program behind', t => {
  const { root, write } = checkout(t)
  write('src/base/said.ts', "export { said } from './nowhere.ts'\n")
  assert.throws(() => builtProgram(root), /nowhere/)
  assert.throws(() => builtProgram(root), /nowhere/)
})

test('a checkout without the bundler runs its source', t => {
  const { root } = checkout(t)
  rmSync(join(root, 'node_modules'))
  assert.equal(builtProgram(root), undefined)
})
