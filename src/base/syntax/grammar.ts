import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import type { NapiConfig, SgNode } from '@ast-grep/napi'
import { type CodeLanguage, LANGUAGES } from './languages.ts'

/** Loaded on use: the parser is a native library. */
const load = createRequire(import.meta.url)

type AstGrep = typeof import('@ast-grep/napi')
interface GrammarPackage {
  libraryPath: string
  extensions: string[]
  languageSymbol: string
  expandoChar: string
}

/**
 * Loads the grammars that are installed. The parser keeps them in a list that all threads share and that is not protected, so only the main thread adds to
 * it, once, before it starts threads that parse.
 */
export const loadGrammars: () => void = once(() => {
  const found = LANGUAGES.flatMap(({ name, package: from }) => {
    const grammar = from === undefined ? undefined : readGrammar(from)
    return grammar ? [[name, grammar] as const] : []
  })
  load('@ast-grep/napi').registerDynamicLanguage(Object.fromEntries(found))
})

/** A package that is not installed, or has nothing for this machine: files of its language are cut by lines. */
function readGrammar(from: string): GrammarPackage | undefined {
  try {
    const { libraryPath, extensions, languageSymbol, expandoChar } = load(from) as GrammarPackage
    return { libraryPath, extensions, languageSymbol, expandoChar }
  } catch {
    return undefined
  }
}

/** The root of the syntax tree of a text; undefined if the grammar is not there. A tree uses forty times the memory of its text. */
export function parseTree({ name }: CodeLanguage, text: string): SgNode | undefined {
  try {
    if (isMainThread) loadGrammars()
    return (load('@ast-grep/napi') as AstGrep).parse(name, text).root()
  } catch {
    return undefined
  }
}

/** A rule that finds all nodes of some kinds; a grammar does not accept a kind that it does not have. */
export function anyKind({ name }: CodeLanguage, kinds: readonly string[]): NapiConfig {
  const { kind } = load('@ast-grep/napi') as AstGrep
  const known = kinds.filter(each => kind(name, each) !== 0)
  return { rule: { any: known.map(each => ({ kind: each })) } }
}

function once(run: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    run()
  }
}
