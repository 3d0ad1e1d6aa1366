import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../../src/base/syntax/parse-source.ts'
import { fileContext, impactOf, related, toMermaid } from '../../../src/knowledge/graph/ask-graph.ts'
import { PathIndex, resolveImport } from '../../../src/knowledge/graph/resolve-import.ts'
import type { ParseFiles } from '../../../src/knowledge/index/update.ts'
import { commitAll } from '../../support/world.ts'
import { indexedProject, write } from '../index/an-index.ts'

const parse: ParseFiles = async function* (files) {
  for await (const { path, text } of files) yield [{ path, parsed: parseSource(path, text) }]
}
const PATIENT = { freshMs: 60_000 }

const FILES = {
  'src/store.ts': `export class Store extends Base {
  save(row: string): void { check(row) }
}
export function check(row: string) { return row }
class Base {}
`,
  'src/submit.ts': `import { Store } from './store.ts'
export function submitTask(store: Store) { store.save('x') }
`,
  'src/route.ts': `import { submitTask } from './submit.ts'
export const route = () => { submitTask(open()) }
`,
  'src/other.ts': 'export function check(a: number) { return a }\ncheck(1)\n',
}

test('the graph knows imports, callers, bases and files that are changed together', async t => {
  const { root, index } = indexedProject(t, FILES, parse)
  for (const round of [1, 2]) {
    write(root, 'src/store.ts', `${FILES['src/store.ts']}// ${round}\n`)
    write(root, 'src/submit.ts', `${FILES['src/submit.ts']}// ${round}\n`)
    commitAll(root, `round ${round}`)
  }
  const { answer: context } = await index.ask(file => fileContext(file, 'src/store.ts'), PATIENT)
  assert.deepEqual(context?.importedBy, ['src/submit.ts'])
  assert.deepEqual(
    context?.callers.map(({ name, path, inside }) => `${path} ${inside} calls ${name}`),
    ['src/submit.ts submitTask calls save'],
  )
  assert.deepEqual(
    context?.exports.map(({ name }) => name),
    ['Store', 'save', 'check'],
  )
  assert.deepEqual(
    context?.changedWith.map(({ path, commits }) => `${path} ${commits}`),
    ['src/submit.ts 3'],
  )
  assert.match(context?.note ?? '', /may miss dynamic calls/)

  const { answer: near } = await index.ask(file => related(file, 'Store.save', 2), PATIENT)
  const edges = near?.edges.map(({ from, kind, to }) => `${from} ${kind} ${to}`) ?? []
  for (const edge of [
    'src/store.ts#Store.save calls src/store.ts#check',
    'src/submit.ts#submitTask calls src/store.ts#Store.save',
    'src/route.ts#route calls src/submit.ts#submitTask',
  ])
    assert.ok(edges.includes(edge), `${edge} is not in\n${edges.join('\n')}`)
  assert.match(toMermaid(near ?? { nodes: [], edges: [] }), /^graph LR\n {2}n0\["Store\.save/)

  const { answer: impact } = await index.ask(file => impactOf(file, 'src/store.ts'), PATIENT)
  assert.deepEqual(
    impact?.map(({ path, distance }) => `${path} ${distance}`),
    ['src/submit.ts 1', 'src/route.ts 2'],
  )
  const { answer: unknown } = await index.ask(file => related(file, 'noSuchThing'), PATIENT)
  assert.equal(unknown, undefined)

  write(root, 'src/submit.ts', 'export function submitTask() {}\n')
  const { answer: later } = await index.ask(file => fileContext(file, 'src/store.ts'), PATIENT)
  assert.deepEqual(later?.importedBy, [], 'an import that is gone is forgotten')
})

test('a call of a method is linked only where its name says which one is meant', async t => {
  const { index } = indexedProject(
    t,
    {
      'src/box.ts': 'export class Box {\n  find(): void {}\n  unpack(): void {}\n  seal(): void {}\n}\n',
      'src/jar.ts': 'export class Jar {\n  seal(): void {}\n}\n',
      'src/both.ts':
        "import { Box } from './box.ts'\nimport { Jar } from './jar.ts'\nexport const both = x => x.seal()\n",
      'src/one.ts': "import { Box } from './box.ts'\nexport const one = x => { x.seal(); [].find(); x.unpack() }\n",
      'src/none.ts': 'export const none = list => { list.find(); list.unpack() }\n',
    },
    parse,
  )
  const callersOf = async (name: string) => {
    const { answer } = await index.ask(file => related(file, name, 1), PATIENT)
    return answer?.edges.filter(({ kind }) => kind === 'calls').map(({ from }) => from)
  }
  assert.deepEqual(await callersOf('Box.find'), [], 'every array has it')
  assert.deepEqual(await callersOf('Box.seal'), ['src/one.ts#one'], 'the other file may mean either class')
  assert.deepEqual(await callersOf('Box.unpack'), ['src/one.ts#one', 'src/none.ts#none'], 'nothing else is called so')
  const { answer } = await index.ask(file => related(file, 'one', 1), PATIENT)
  const called = answer?.edges.filter(({ kind }) => kind === 'calls').map(({ to }) => to)
  assert.deepEqual(called, ['src/box.ts#Box.unpack'])
})

/** The file that imports, what it imports, and what that is. */
const IMPORTS: [from: string, language: string, imported: string, names: string[], expected: string[]][] = [
  ['src/a/b.ts', 'TypeScript', '../base/files.js', [], ['src/base/files.ts']],
  ['src/a/b.ts', 'TypeScript', '../store', [], ['src/store/index.ts']],
  ['src/a/b.ts', 'TypeScript', '@/base/files', [], ['src/base/files.ts']],
  ['src/a/b.ts', 'TypeScript', 'react', [], []],
  ['lib/app/main.py', 'python', '.models', ['User'], ['lib/app/models.py']],
  ['lib/app/main.py', 'python', 'app', ['models'], ['lib/app/models.py']],
  ['lib/app/main.py', 'python', 'os.path', [], []],
  ['cmd/main.go', 'go', 'example.com/x/internal/db', [], ['internal/db/open.go']],
  ['src/main.rs', 'rust', 'crate::net', ['Client'], ['src/net/mod.rs']],
  ['x/src/Main.java', 'java', 'com.acme', ['Tool'], ['x/src/com/acme/Tool.java']],
  ['src/main.c', 'c', 'util/list.h', [], ['include/util/list.h']],
  ['lib/main.rb', 'ruby', 'acme/tool', [], ['lib/acme/tool.rb']],
  ['bin/run.sh', 'bash', '$DIR/common.sh', [], ['bin/common.sh']],
]

test('an import is resolved to the file that it means', () => {
  const paths = new PathIndex([
    ...['src/base/files.ts', 'src/store/index.ts', 'lib/app/models.py', 'lib/app/__init__.py', 'internal/db/open.go'],
    ...['src/net/mod.rs', 'x/src/com/acme/Tool.java', 'include/util/list.h', 'lib/acme/tool.rb', 'bin/common.sh'],
  ])
  for (const [path, language, from, names, expected] of IMPORTS)
    assert.deepEqual(resolveImport({ from, names }, { path, language }, paths), expected, `${from} in ${path}`)
})
