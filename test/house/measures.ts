import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { readTree, type SourceFile } from './source-tree.ts'

/** A way through the program may cross at most so many files. */
const LONGEST_WAY = 40
/** Words that type names may not use: they named furniture, and nobody could tell what they were. */
const FURNITURE =
  /Floor|Desk(?!top)|World|Place(?!holder)|Seat(?!belt)|Ground(?!ed)|Mind|Manner|Shelf|Lanes?(?![a-z])|Landing|Parts(?![a-z])|Keeper/
const SMALL_LINES = 40
/**
 * 650 held what there was when the house was rebuilt; the sandbox, the first night, the hooks of four vendors, the code index and memory add their own, and
 * so do what a change makes of a file, which guards it takes away, and which programs of git a sandbox closes.
 */
const MOST_FILES = 943
const MOST_FOLDERS = 80
const MEND =
  'put yours into the file that imports it, or another one under 40 lines into its only importer; a new part of the product may raise MOST_FILES in test/house/measures.ts, with the reason'

export interface House {
  files: number
  folders: number
  lines: number
  largest: string
  /** Files that a single other file imports, and how many of them are small. */
  oneImporter: number
  smallOneImporter: number
  ways: Record<string, number>
  problems: string[]
}

/** What `npm run check` prints about the size of the house, and in which ways its rules are broken. */
export function measureHouse(root: string): House {
  const files = readTree(root, ['src'])
  const importers = countImporters(files)
  const largest = files.toSorted((a, b) => b.lines - a.lines)[0]
  const single = files.filter(({ path }) => importers.get(path)?.size === 1)
  const ways = readWays(root)
  const folders = new Set(files.map(({ path }) => dirname(path))).size
  const types = files.flatMap(declaredTypes)
  return {
    files: files.length,
    folders,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    largest: largest ? `${largest.path} (${largest.lines})` : 'none',
    oneImporter: single.length,
    smallOneImporter: single.filter(({ lines }) => lines < SMALL_LINES).length,
    ways: Object.fromEntries(ways.map(({ name, steps }) => [name, steps.length])),
    problems: [
      ...(files.length > MOST_FILES ? [`src has ${files.length} files (at most ${MOST_FILES}): ${MEND}`] : []),
      ...(folders > MOST_FOLDERS ? [`src has ${folders} folders (at most ${MOST_FOLDERS})`] : []),
      ...ways.flatMap(way => wrongSteps(way, root)),
      ...doubledTypes(types),
      ...furniture([...types, ...readTree(root, ['scripts']).flatMap(declaredTypes)]),
    ],
  }
}

function countImporters(files: readonly SourceFile[]): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>()
  for (const { path, imports } of files)
    for (const { target } of imports) if (target) importers.set(target, (importers.get(target) ?? new Set()).add(path))
  return importers
}

interface Way {
  name: string
  steps: { file: string; isPassedIn: boolean }[]
}

/** The ways that docs/architecture.md draws: each is a table after a comment with its name. */
function readWays(root: string): Way[] {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  return [...page.matchAll(/<!-- way: (\w+) -->\n((?:\|.*\n)+)/g)].map(([, name = '', table = '']) => ({
    name,
    steps: [...table.matchAll(/^\|(.*)\| \[([^\]]+)\]\(/gm)].map(([, about = '', file = '']) => ({
      file,
      isPassedIn: /\((passed in|over the socket)\)/.test(about),
    })),
  }))
}

function wrongSteps({ name, steps }: Way, root: string): string[] {
  const problems: string[] = []
  if (steps.length > LONGEST_WAY)
    problems.push(`the way of ${name} crosses ${steps.length} files (at most ${LONGEST_WAY})`)
  const tree = new Map(readTree(root, ['src', 'bin']).map(file => [file.path, file]))
  const seen: SourceFile[] = []
  for (const { file, isPassedIn } of steps) {
    const found = tree.get(file)
    if (!found) {
      problems.push(`the way of ${name} names ${file}, which does not exist`)
      continue
    }
    const isFirst = seen.length === 0
    const isReached = seen.some(
      ({ path, imports }) =>
        (path.startsWith('bin/') && /^src\/cli\/(hook-)?main\.ts$/.test(file)) ||
        imports.some(({ target }) => target === file),
    )
    if (!isFirst && !isPassedIn && !isReached)
      problems.push(`the way of ${name}: no earlier file of it imports ${file}`)
    seen.push(found)
  }
  return problems
}

/** One exported type name means one thing. */
function doubledTypes(types: readonly DeclaredType[]): string[] {
  const exported = types.filter(({ isExported }) => isExported)
  return [...Map.groupBy(exported, ({ name }) => name)]
    .filter(([, types]) => types.length > 1)
    .map(([name, types]) => `the type ${name} is exported by ${types.map(({ path }) => path).join(' and ')}`)
}

/** Types, exported or not, that are not named for what they are. */
function furniture(types: readonly DeclaredType[]): string[] {
  return types
    .filter(({ name }) => FURNITURE.test(name))
    .map(({ name, path }) => `the type ${name} of ${path} has a name of furniture: name it for what it is`)
}

interface DeclaredType {
  name: string
  path: string
  isExported: boolean
}

function declaredTypes({ path, text }: SourceFile): DeclaredType[] {
  const { program } = parseSync(path, text)
  return program.body.flatMap(node => {
    const isExported = node.type === 'ExportNamedDeclaration'
    const declared = isExported ? node.declaration : node
    const isType =
      declared?.type === 'TSInterfaceDeclaration' ||
      declared?.type === 'TSTypeAliasDeclaration' ||
      declared?.type === 'ClassDeclaration'
    return isType && declared.id ? [{ name: declared.id.name, path, isExported }] : []
  })
}
