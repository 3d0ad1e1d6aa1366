import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../support/world.ts'
import { measureHouse } from './measures.ts'
import { ROOT } from './source-tree.ts'

test('the house is as small as it was meant to be, its ways are short, and a type name means one thing', () => {
  assert.deepEqual(measureHouse(ROOT).problems, [])
})

test('a house that breaks these rules is told each of them', t => {
  const root = tempDir(t)
  const row = (file: string, about = 'a step') => `| ${about} | [${file}](../${file}) |\n`
  const files = {
    'docs/architecture.md': `<!-- way: start -->\n| step | file |\n|---|---|\n${row('src/a/a.ts')}${row('src/a/c.ts')}${row('src/a/b.ts')}${row('src/b/d.ts', 'a door (passed in)')}${row('src/a/gone.ts')}${row('src/a/a.ts').repeat(36)}`,
    'src/a/a.ts': "import './b.ts'\nexport interface Twice { a: 1 }\nexport class Floor {}\n",
    'src/a/b.ts': 'export type Twice = 1\nexport type TaskParts = 1\ntype Placeholder = 1\n',
    'src/a/c.ts': 'export const Desk = 1\nexport interface Grounded { a: 1 }\n',
    'src/b/d.ts': 'export interface Desktop { a: 1 }\ninterface Seat { a: 1 }\ntype Twice = 1\n',
    'scripts/e.ts': 'interface AtDesk { a: 1 }\n',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const house = measureHouse(root)
  assert.deepEqual(house.problems, [
    'the way of start crosses 41 files (at most 40)',
    'the way of start: no earlier file of it imports src/a/c.ts',
    'the way of start names src/a/gone.ts, which does not exist',
    ...Array(36).fill('the way of start: no earlier file of it imports src/a/a.ts'),
    'the type Twice is exported by src/a/a.ts and src/a/b.ts',
    'the type Floor of src/a/a.ts has a name of furniture: name it for what it is',
    'the type TaskParts of src/a/b.ts has a name of furniture: name it for what it is',
    'the type Seat of src/b/d.ts has a name of furniture: name it for what it is',
    'the type AtDesk of scripts/e.ts has a name of furniture: name it for what it is',
  ])
  assert.deepEqual(
    [house.files, house.folders, house.oneImporter, house.smallOneImporter, house.ways],
    [4, 2, 1, 1, { start: 41 }],
  )
})
