import {
  type CodeNode,
  type CodeTree,
  isString,
  lineOf,
  nodesAround,
  nodesIn,
  readCode,
} from '../../../base/syntax/code-tree.ts'
import { type CodeLanguage, languageOf as grammarOf, LANGUAGES } from '../../../base/syntax/languages.ts'
import {
  aliasesIn,
  argumentsIn,
  type Chain,
  chainsIn,
  definitionOf,
  isCall,
  isFunction,
  marksOf,
} from './call-chain.ts'
import type { DiffFile } from './change.ts'
import { type CodePiece, pieceOf } from './code-piece.ts'
import { isTestFile, isTestSupport, type Language, languageOf } from './file-kind.ts'
import { assertionsIn } from './read-assertions.ts'
import { type FoundSkip, isFocusing, skipAround, skipInside, skipOfChain, worstOf } from './read-skips.ts'
import { sidesOf } from './strength.ts'
import type { Assertion, TestCase } from './test-case.ts'
import { TEST_LANGUAGES, type TestLanguage } from './test-languages.ts'
import { RowReader } from './test-rows.ts'

/** The tests on one side of a change, and the helper functions that assert for them. */
export interface ReadTestFiles {
  cases: TestCase[]
  /** Helper functions that assert: they are compared like tests. */
  helpers: TestCase[]
}

/** No real file has more; one that does was written to slow the check down. */
const MOST_TESTS = 1_500

/**
 * All tests of the changed files, before or after. Assertions of a helper function count as those of the tests that call it; a
 * function in `asserting` counts as a helper even if it no longer asserts anything.
 */
export function readTests(
  files: readonly DiffFile[],
  side: 'before' | 'after',
  asserting: ReadonlySet<string> = new Set(),
): ReadTestFiles {
  const read = files.flatMap(file => readFile(file, file[side]))
  const helpers = read.flatMap(one =>
    one.helpers.filter(each => each.assertions.length > 0 || asserting.has(each.name)),
  )
  const known = new Map(helpers.map(each => [each.name, each] as const))
  return { cases: read.flatMap(one => one.cases.map(test => withHelpers(test, known))), helpers }
}

function readFile({ path, kind }: DiffFile, text: string | undefined): ReadTestFiles[] {
  const language = languageOf(path)
  if (kind !== 'text' || language === undefined || text === undefined) return []
  const isTest = isTestFile(path, text)
  if (!isTest && !isTestSupport(path)) return []
  const tree = readTestCode(path, text)
  if (!tree) return []
  const reader = new TestReader(tree, language, path)
  const cases = isTest ? reader.tests() : []
  const helpers = reader.helpers()
  // In Rust a function in the same file may belong to the program: only one that a test calls counts.
  const isOwn = (name: string) =>
    language !== 'rust' || /(^|\/)tests\//.test(path) || cases.some(test => test.body.calls.includes(name))
  return [{ cases, helpers: helpers.filter(each => isOwn(each.name)) }]
}

/** The syntax tree of a file; undefined if there is no grammar for it. */
export function readTestCode(path: string, text: string): CodeTree | undefined {
  const given = grammarFor(path, text)
  return given && readCode(...given)
}

/** The grammar for a test file, and its text for that grammar: in Rust, assertions are read as calls, because macros have only loose signs. */
export function grammarFor(path: string, text: string): [CodeLanguage, string] | undefined {
  const grammar = languageOf(path) === undefined ? undefined : (grammarOf(path.toLowerCase()) ?? LANGUAGES[0])
  if (grammar?.name !== 'rust') return grammar && [grammar, text]
  const macros = /(?<=\b(?:(?:debug_|prop_)?assert(?!_matches)\w*|panic|unreachable))!(?=\s*\()/g
  return [grammar, text.replace(macros, 'ǃ')]
}

/** Replaces calls of helper functions by their assertions, two levels deep. */
function withHelpers(test: TestCase, known: ReadonlyMap<string, TestCase>): TestCase {
  const called = ({ calls }: CodePiece) => calls.flatMap(name => known.get(name) ?? [])
  const first = called(test.body)
  if (first.length === 0) return test
  const second = first.flatMap(each => each.assertions.flatMap(called))
  const helpers = [...new Set([...first, ...second])]
  const names = new Set(helpers.map(each => each.name))
  const isHelper = ({ matcher, calls }: Assertion) => names.has(matcher) || names.has(calls[0] ?? '')
  const inner = helpers.flatMap(each => each.assertions.filter(one => !isHelper(one)))
  return {
    ...test,
    assertions: [
      ...test.assertions.filter(one => !isHelper(one)),
      ...inner.map(({ trouble: _, ...one }) => ({ ...one, line: test.line })),
    ],
  }
}

interface FoundTest {
  name: string
  node: CodeNode
  body: CodeNode
  marks: Chain[]
}

/** A function that skips tests. */
interface Skipper {
  name: string
  isHook: boolean
  found: FoundSkip
}

/** Names of what runs before every test. */
const HOOK = /(^|\.)(set_?up\w*|before\w*|one_?time_?set_?up|test_?initialize)$/i

class TestReader {
  readonly #tree: CodeTree
  readonly #names: Language
  readonly #language: TestLanguage
  readonly #file: string
  readonly #aliases: ReadonlyMap<string, string>
  readonly #chains: Map<CodeNode, Chain>
  readonly #rows: RowReader
  readonly #found: FoundTest[]
  readonly #skippers: Skipper[]

  constructor(tree: CodeTree, language: Language, file: string) {
    this.#tree = tree
    this.#names = language
    this.#language = TEST_LANGUAGES[language]
    this.#file = file
    this.#aliases = aliasesIn(tree.root, this.#language)
    this.#chains = new Map([...chainsIn(tree.root, this.#aliases)].map(chain => [chain.node, chain]))
    this.#rows = new RowReader(tree.root, this.#language, this.#chains)
    this.#found = [...this.#calledTests(), ...this.#definedTests()].slice(0, MOST_TESTS)
    this.#skippers = this.#readSkippers()
  }

  tests(): TestCase[] {
    return this.#found.filter(({ node }) => !this.#isGroup(node)).map(found => this.#testCase(found))
  }

  /** Functions that are not tests. */
  helpers(): TestCase[] {
    const bodies = new Set(this.#found.map(({ body }) => body))
    return [...nodesIn(this.#tree.root)].flatMap(node => {
      const defined = definitionOf(node, this.#language.functions)
      if (!defined || bodies.has(defined.body)) return []
      return [{ ...this.#read(defined.name, node, defined.body), isHelper: true }]
    })
  }

  #isGroup(node: CodeNode): boolean {
    const chain = this.#chains.get(node)
    return chain !== undefined && this.#language.groups?.test(chain.path) === true
  }

  #isTest(chain: Chain): boolean {
    return this.#language.tests?.test(chain.path) === true && titleOf(chain) !== undefined
  }

  *#calledTests(): Generator<FoundTest> {
    for (const chain of this.#chains.values()) {
      if (!this.#isTest(chain)) continue
      const after = chain.node.parent?.parent?.parts
      const next = after?.[(after.indexOf(chain.node.parent as CodeNode) ?? 0) + 1]
      const body =
        chain.links.flatMap(({ args = [] }) => args).findLast(isFunction) ??
        (next?.kind === 'compound_statement' ? next : chain.node)
      yield { name: titleOf(chain) ?? '', node: chain.node, body, marks: [chain] }
    }
  }

  *#definedTests(): Generator<FoundTest> {
    const { named, marked, functions } = this.#language
    for (const node of nodesIn(this.#tree.root)) {
      if (!functions.test(node.kind)) continue
      const defined = definitionOf(node, this.#language.functions)
      if (!defined) continue
      const marks = marksOf(node, this.#aliases)
      const isMarked =
        marks.some(({ path, links }) => marked?.test(path) || marked?.test(links[0]?.name ?? '')) ||
        this.#isCommented(node)
      if (!isMarked && !named?.test(defined.name)) continue
      const given = /^[A-Z_]+$/.test(defined.name) ? parametersOf(node) : undefined
      const chain: Chain[] = given ? [{ node, path: given, links: given.split(/\W+/).map(name => ({ name })) }] : []
      yield { name: given ?? defined.name, node, body: defined.body, marks: [...marks, ...chain] }
    }
  }

  /** `@test` in the comment above a method of PHPUnit. */
  #isCommented(node: CodeNode): boolean {
    if (this.#names !== 'php') return false
    const line = lineOf(node)
    return this.#tree.comments.some(({ text, source }) => /@test\b/.test(text) && source.range().end.line + 2 === line)
  }

  #testCase({ name, node, body, marks }: FoundTest): TestCase {
    const groups = [...nodesAround(node)].flatMap(around => {
      const chain = this.#chains.get(around)
      return chain && this.#isTest(chain) ? [chain] : []
    })
    const own = [...marks, ...groups]
    const read = this.#read(name, node, body)
    const skip = worstOf([
      ...own.map(mark => skipOfChain(mark, this.#language)),
      ...skipAround(node, this.#language, this.#aliases),
      skipInside(body, this.#language, this.#aliases, chain => this.#isTest(chain)),
      this.#buildTag(),
      ...this.#skippers.flatMap(({ name, isHook, found }) => (isHook || read.body.calls.includes(name) ? [found] : [])),
    ])
    const panics = marks.filter(({ path }) => path === 'should_panic').map(expectedPanic)
    // In a test that has to panic, a failing assertion makes the test pass: it does not count.
    if (panics.length > 0) for (const one of read.assertions) one.trouble ??= 'swallowed'
    return {
      ...read,
      ...(skip.skip !== undefined && { skip: skip.skip }),
      ...(skip.text !== undefined && { skipText: skip.text }),
      isFocused: own.some(mark => isFocusing(mark, this.#language)),
      assertions: [...panics, ...read.assertions],
      cases: this.#rows.of(node, body, own),
    }
  }

  /** Functions that skip: those that run before every test, and those that a test calls. */
  #readSkippers(): Skipper[] {
    const tests = new Set(this.#found.map(({ body }) => body))
    const skipIn = (body: CodeNode) => skipInside(body, this.#language, this.#aliases, chain => this.#isTest(chain))
    const called = [...this.#chains.values()].flatMap(({ path, links }) => {
      const body = HOOK.test(path) ? links.at(-1)?.args?.findLast(isFunction) : undefined
      return body ? [{ name: path, isHook: true, found: skipIn(body) }] : []
    })
    const defined = [...nodesIn(this.#tree.root)].flatMap(node => {
      const one = definitionOf(node, this.#language.functions)
      if (!one || tests.has(one.body)) return []
      const marks = marksOf(node, this.#aliases)
      const isHook = HOOK.test(one.name) || marks.some(({ path, said = '' }) => HOOK.test(path) || /autouse/.test(said))
      return [{ name: one.name, isHook, found: skipIn(one.body) }]
    })
    return [...called, ...defined].filter(({ found }) => found.skip !== undefined)
  }

  /** `//go:build ignore` leaves out the whole file. */
  #buildTag() {
    const tag =
      this.#names === 'go'
        ? this.#tree.comments.flatMap(({ text }) => /^\/\/go:build\s+(.+)$/.exec(text)?.[1] ?? [])[0]
        : undefined
    if (tag === undefined || /^(unit|test)$/.test(tag)) return {}
    const isPlatform = /^!?\(?\s*(windows|darwin|linux|unix|freebsd|amd64|arm64|cgo|race|go1\.\d+)/.test(tag)
    return { skip: isPlatform ? ('elsewhere' as const) : ('always' as const), text: `//go:build ${tag}` }
  }

  #read(name: string, node: CodeNode, body: CodeNode): TestCase {
    return {
      name,
      file: this.#file,
      line: lineOf(node),
      language: this.#names,
      isFocused: false,
      body: pieceOf(body),
      assertions: assertionsIn(body, this.#language, this.#aliases),
      cases: [],
      locals: localsIn(body),
      fallbacks: fallbacksIn(body),
      isHelper: false,
    }
  }
}

/** The title of a test that a call defines; undefined if the call defines none. */
function titleOf({ links, path }: Chain): string | undefined {
  const args = links.flatMap(({ name, args = [] }) =>
    /^(each|for|skipIf|runIf|todoIf|if|with|config)$/.test(name) ? [] : args,
  )
  const [first] = args
  if (path.startsWith('"')) return path.replace(/^"|"(\.\w+)*$/g, '')
  if (!first) return undefined
  if (isFunction(first)) return ''
  if (args.length < 2 && !isString(first)) return undefined
  return pieceOf(first).text.replace(/^"|"$/g, '')
}

function parametersOf(node: CodeNode): string | undefined {
  const list = node.parts
    .find(({ kind }) => kind === 'function_declarator')
    ?.parts.find(({ kind }) => kind === 'parameter_list')
  return list
    ? argumentsIn(list)
        .map(each => pieceOf(each).text)
        .join('.')
    : undefined
}

function expectedPanic(mark: Chain): Assertion {
  const piece = pieceOf(mark.node)
  return {
    ...piece,
    line: lineOf(mark.node),
    strength: piece.literals.length === 0 ? 2 : 3,
    matcher: 'should_panic',
    words: ['should_panic'],
  }
}

/** What variables of a function are set to. */
function localsIn(body: CodeNode): Map<string, CodePiece> {
  const locals = new Map<string, CodePiece>()
  for (const { parts } of nodesIn(body)) {
    const at = parts.findIndex(({ text }) => /^:?=$/.test(text))
    const [left = ''] = at > 0 ? pieceOf(...parts.slice(0, at)).text.split(':') : []
    const name = left.match(/[A-Za-z_]\w*/g)?.at(-1)
    if (name !== undefined && !locals.has(name)) locals.set(name, pieceOf(...parts.slice(at + 1)))
  }
  return locals
}

const FALLBACK_CALL =
  /^(catch|unwrap_or|unwrap_or_else|unwrap_or_default|getOrElse|orElse|orElseGet|getOrDefault|rescue)$/

function fallbacksIn(body: CodeNode): CodePiece[] {
  return [...nodesIn(body)].flatMap(node => {
    const sides = sidesOf(node)
    if (sides && /^(\?\?|\|\||or|\?:)$/.test(sides.sign)) return [pieceOf(sides.right)]
    if (!isCall(node)) return []
    const [chain] = [...chainsIn(node)]
    const last = chain?.links.at(-1)
    return last && FALLBACK_CALL.test(last.name) && last.args ? [pieceOf(...last.args)] : []
  })
}
