import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Node, parseSync, Visitor } from 'oxc-parser'

/** The checkout under test. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface SourceFile {
  /** Relative to the tree's root, with `/`. */
  path: string
  text: string
  lines: number
  imports: Import[]
}

export interface Import {
  /** The specifier as written. */
  specifier: string
  /** The file of a relative specifier, relative to the tree's root. */
  target: string | undefined
  line: number
}

/** Every source file in the given folders of a tree, with its imports. */
export function readTree(root: string, folders: string[]): SourceFile[] {
  return folders
    .flatMap(folder => globSync(`${folder}/**/*.{ts,js,tsx}`, { cwd: root, exclude: ['**/node_modules/**'] }))
    .sort()
    .map(path => {
      const text = readFileSync(join(root, path), 'utf8')
      return { path, text, lines: text.trimEnd().split('\n').length, imports: importsOf(path, text) }
    })
}

/** The imports of files that were parsed before: several tests of a process read the same tree. */
const known = new Map<string, { text: string; imports: Import[] }>()

/**
 * Static imports, re-exports, `import()` and types by `import('…')`. A dynamic import with a computed path is listed with
 * the specifier `<computed>`, so that a layer test can rely on the list being complete.
 */
export function importsOf(path: string, text: string): Import[] {
  const before = known.get(path)
  if (before?.text === text) return before.imports
  const imports = parseImports(path, text)
  known.set(path, { text, imports })
  return imports
}

function parseImports(path: string, text: string): Import[] {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const found: Import[] = []
  const add = (source: Node | null) => {
    if (!source) return
    const specifier = literal(source)
    const target = specifier.startsWith('.') ? posix.join(dirname(path), specifier) : undefined
    found.push({ specifier, target, line: text.slice(0, source.start).split('\n').length })
  }
  new Visitor({
    ImportDeclaration: node => add(node.source),
    ExportNamedDeclaration: node => add(node.source),
    ExportAllDeclaration: node => add(node.source),
    ImportExpression: node => add(node.source),
    TSImportType: node => add(node.source),
  }).visit(program)
  return found
}

function literal(source: Node): string {
  if (source.type === 'Literal' && typeof source.value === 'string') return source.value
  const [only, ...more] = source.type === 'TemplateLiteral' ? source.quasis : []
  return only && more.length === 0 ? (only.value.cooked ?? only.value.raw) : '<computed>'
}
