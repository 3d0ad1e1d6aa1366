import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../support/world.ts'
import { brokenRules } from './rules.ts'
import { importsOf, ROOT, readTree } from './source-tree.ts'

test('the source keeps the rules of the house: layers, no cycles, short files, names that say something', () => {
  assert.ok(readTree(ROOT, ['src']).length > 10, 'the source was found')
  assert.deepEqual(brokenRules(ROOT), [])
})

test('every broken rule of a tree is reported', t => {
  const root = tempDir(t)
  const long = 'export const x = 1\n'
  write(root, {
    'src/base/up.ts': "import type { Row } from '../store/rows.ts'\nexport type Up = Row\n",
    'src/store/rows.ts': "export type Row = { a: import('../policy/decide.ts').Verdict }\n",
    'src/policy/decide.ts': "import { ask } from '../human/ask.ts'\nexport type Verdict = typeof ask\n",
    'src/human/ask.ts': "export const ask = async () => import('../store/rows.ts')\n",
    'src/domain/loop-a.ts': "export { b as a } from './loop-b.ts'\n",
    'src/domain/loop-b.ts': "import {\n  a,\n} from './loop-a.ts'\nexport const b = a\n",
    'src/agents/open.ts': 'export const open = (name: string) => import(`./${name}.ts`)\n',
    'src/agents/fake.ts': "import { openSimulator } from '../simulator/open.ts'\nexport const fake = openSimulator\n",
    'src/simulator/open.ts': 'export const openSimulator = 1\n',
    'src/stray/thing.ts': long,
    'src/workspace/git/up.ts': "import '../merge/queue.ts'\n",
    'src/workspace/merge/queue.ts': long,
    'src/cli/index.ts': long,
    'src/cli/string-utils.ts': long,
    'src/cli/BadName.ts': long,
    'src/cli/run-in-terminal.ts': "import { spawn } from 'node:child_process'\nspawn('ls')\n",
    'src/human/edits.ts': "export const EDITS = ['Edit', 'NotebookEdit']\n",
    'src/human/shout.ts': "import { execFile } from 'child_process'\nexport { spawn } from 'node:child_process'\n",
    'src/cli/reach.ts': "import '../../test/a.ts'\n",
    'test/a.ts': long.repeat(401),
    'test/b.ts': long.repeat(400),
    'src/supervisor/session/run-task.ts': long.repeat(200),
  })
  assert.deepEqual(brokenRules(root).sort(), [
    'import cycle: src/domain/loop-a.ts → src/domain/loop-b.ts → src/domain/loop-a.ts',
    'import cycle: src/store/rows.ts → src/policy/decide.ts → src/human/ask.ts → src/store/rows.ts',
    'src/agents/fake.ts:1 imports src/simulator/open.ts: agents does not know simulator',
    'src/agents/open.ts:1 imports a computed path, which no rule can follow',
    'src/base/up.ts:1 imports src/store/rows.ts: store stands above base',
    'src/cli/BadName.ts is not kebab-case',
    'src/cli/index.ts has a name that says nothing: name it for what it exports',
    'src/cli/reach.ts:1 imports test/a.ts, outside src',
    'src/cli/string-utils.ts has a name that says nothing: name it for what it exports',
    'src/human/edits.ts spells "NotebookEdit" itself: import what src/domain/file-tools.ts exports',
    'src/human/shout.ts:1 imports child_process: short programs are started by src/base/process/run-short.ts',
    'src/human/shout.ts:2 imports node:child_process: short programs are started by src/base/process/run-short.ts',
    'src/policy/decide.ts:1 imports src/human/ask.ts: policy and human are strangers',
    'src/store/rows.ts:1 imports src/policy/decide.ts: policy stands above store',
    'src/stray/thing.ts is in no known folder of src: add its level to test/house/rules.ts',
    'src/supervisor/session/run-task.ts has 200 lines (the loop stays under 200)',
    'src/workspace/git/up.ts:1 imports src/workspace/merge/queue.ts, which stands above it',
    'test/a.ts has 401 lines (at most 400)',
  ])
})

test('every way to import is found, and text that only looks like one is not', () => {
  const text = `
import a from './a.ts'
import type { B } from './b.ts'
import {
  c,
} from "./c.ts"
import './d.ts'
export * from './e.ts'
export type { F } from './f.ts'
const g = await import('./g.ts')
const h = import(/* why */ './h.ts')
type I = import('./i.ts').I
type J = typeof import("../other/j.ts")
const k = await import(name)
// import l from './l.ts'
/* import('./m.ts') */
const n = 'https://example.invalid/ import("./n.ts")'
const o = \`
import o from './o.ts'
\`
const p = /['\`]/
const q = await import(\`./q.ts\`)
export const from = 'plain'
`
  const found = importsOf('src/cli/x.ts', text)
  assert.deepEqual(
    found.map(({ specifier, target }) => target ?? specifier),
    [
      'src/cli/a.ts',
      'src/cli/b.ts',
      'src/cli/c.ts',
      'src/cli/d.ts',
      'src/cli/e.ts',
      'src/cli/f.ts',
      'src/cli/g.ts',
      'src/cli/h.ts',
      'src/cli/i.ts',
      'src/other/j.ts',
      '<computed>',
      'src/cli/q.ts',
    ],
  )
  assert.deepEqual(
    found.map(({ line }) => line),
    [2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 22],
  )
})

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}
