import type { SgNode } from '@ast-grep/napi'
import { MOST_CHARS } from './chunks.ts'
import { anyKind } from './grammar.ts'
import type { CodeLanguage } from './languages.ts'
import type { CodeDefinition } from './parsed-file.ts'

/** A signature is read by people and agents, and is in the header of every chunk. */
const SIGNATURE_CHARS = 240
const PRIVATE = /\b(?:private|fileprivate)\b|^#|^(?:async\s+)?def\s+_(?!_)/

interface Found extends CodeDefinition {
  start: number
  end: number
}

/** The definitions of a file, outer before inner, and the texts of its imports. */
export function readTree(
  root: SgNode,
  language: CodeLanguage,
  text: string,
): { definitions: CodeDefinition[]; imports: string[] } {
  const reader = new TreeReader(language, text)
  reader.readChildren(root)
  return { definitions: reader.finish(), imports: reader.imports }
}

/**
 * Asking about a node costs microseconds, and finding all nodes of a kind costs as much as parsing. So this looks at the top of the tree and at
 * the bodies of classes, and searches all of a node only if it is larger than one chunk.
 */
class TreeReader {
  readonly imports: string[] = []
  readonly #found: Found[] = []
  readonly #language: CodeLanguage
  readonly #text: string
  readonly #wraps: Set<string>
  readonly #blocks: Set<string>
  readonly #imports: Set<string>

  constructor(language: CodeLanguage, text: string) {
    this.#language = language
    this.#text = text
    this.#wraps = new Set(language.wraps)
    this.#blocks = new Set(language.blocks)
    this.#imports = new Set(language.imports)
  }

  readChildren(node: SgNode, outer?: SgNode): void {
    for (const child of node.children()) {
      const kind = child.kind() as string
      if (this.#imports.has(kind)) this.imports.push(child.text())
      else if (this.#blocks.has(kind)) this.readChildren(child)
      else if (this.#wraps.has(kind)) this.#readWrap(child, outer)
      else if (kind in this.#language.definitions) this.#define(child, kind, outer ?? child)
    }
  }

  #readWrap(node: SgNode, outer: SgNode | undefined): void {
    const before = this.#found.length
    this.readChildren(node, outer ?? node)
    if (this.#found.length === before) this.#searchLarge(node)
  }

  #define(node: SgNode, kind: string, outer: SgNode): void {
    const definition = this.#describe(node, kind, outer)
    if (!definition) return
    this.#found.push(definition)
    if (holdsMembers(definition)) this.readChildren(node)
    else this.#searchLarge(node)
  }

  /** Functions and classes inside a long function, or inside a call such as `describe(…)`. Local variables are no definitions. */
  #searchLarge(node: SgNode): void {
    const { start, end } = node.range()
    if (end.index - start.index <= MOST_CHARS) return
    const kinds = Object.entries(this.#language.definitions).flatMap(([kind, means]) =>
      means === 'variable' ? [] : [kind],
    )
    for (const inner of node.findAll(anyKind(this.#language, kinds))) {
      if (inner.id() === node.id()) continue
      const definition = this.#describe(inner, inner.kind() as string, inner)
      if (definition) this.#found.push(definition)
    }
  }

  #describe(node: SgNode, kind: string, outer: SgNode): Found | undefined {
    const { definitions, nameFields, only } = this.#language
    const value = node.field('value') ?? node.field('right')
    const valueKind = value?.kind() as string | undefined
    if (only?.[kind] && !only[kind].includes(valueKind ?? '')) return undefined
    const named = node.field(nameFields?.[kind] ?? 'name') ?? namedChild(node)
    const name = named && nameIn(named.text())
    if (!name) return undefined
    const { start, end } = outer.range()
    const body = node.field('body') ?? value?.field('body')
    const until = body?.range().start.index ?? Math.min(end.index, start.index + SIGNATURE_CHARS)
    const means = definitions[kind] ?? 'variable'
    return {
      name: name.name,
      kind: means === 'variable' && /function|class|lambda/.test(valueKind ?? '') ? 'function' : means,
      signature: signatureOf(this.#text.slice(start.index, until), !body),
      startLine: start.line + 1,
      endLine: end.line + 1,
      ...(name.container && { container: name.container }),
      exported: false,
      start: start.index,
      end: end.index,
    }
  }

  /** Finds the container of each, and whether other files can use it. */
  finish(): CodeDefinition[] {
    const around: Found[] = []
    const sorted = this.#found.toSorted((a, b) => a.start - b.start || b.end - a.end)
    return sorted.map(found => {
      while (around.length > 0 && (around.at(-1)?.end ?? 0) <= found.start) around.pop()
      const outer = around.at(-1)
      around.push(found)
      found.exported = this.#isExported(found, outer)
      if (found.kind === 'function' && outer?.kind === 'class') found.kind = 'method'
      const container = found.container ?? receiverOf(found.signature) ?? outer?.name
      const { start: _start, end: _end, ...definition } = found
      return container === undefined ? definition : { ...definition, container }
    })
  }

  #isExported({ name, signature }: Found, outer: Found | undefined): boolean {
    const { exported, exportedName } = this.#language
    if (outer && !holdsMembers(outer)) return false
    const isOwn = (exported?.test(signature) ?? true) && (exportedName?.test(name) ?? true)
    return isOwn || (outer?.exported === true && exported !== undefined && !PRIVATE.test(signature))
  }
}

function holdsMembers({ kind }: CodeDefinition): boolean {
  return kind === 'class' || kind === 'interface' || kind === 'module' || kind === 'type'
}

/** Some grammars do not say which child is the name. */
function namedChild(node: SgNode): SgNode | undefined {
  return node.children().find(child => /identifier$|^variable_declaration$|^init$/.test(child.kind() as string))
}

/** `run` of `Store::run(int)`, `exports.run` or `*run`; undefined for a pattern such as `{ a, b }`. */
function nameIn(text: string): { name: string; container?: string } | undefined {
  const short = text.slice(0, SIGNATURE_CHARS)
  if (/^[{[(]/.test(short)) return undefined
  const words = /[\w$~.:#\p{L}-]+/u.exec(short.replace(/^[*&\s]+/, ''))?.[0].split(/::|\./) ?? []
  const name = words.at(-1)?.replace(/:+$/, '')
  const container = words.at(-2)
  if (!name || name === 'exports' || container === 'this' || container === 'self') return undefined
  return container && container !== 'exports' && container !== 'prototype' ? { name, container } : { name }
}

/** The type that a method of Go belongs to. */
function receiverOf(signature: string): string | undefined {
  return /^func\s*\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)/.exec(signature)?.[1]
}

function signatureOf(text: string, isOpen: boolean): string {
  const part = isOpen ? (/^[^\n{]*/.exec(text)?.[0] ?? '') : text
  return part
    .slice(0, SIGNATURE_CHARS)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/=>$|[:{=;]+$/, '')
    .trim()
}
