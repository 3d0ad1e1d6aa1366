import type { SgNode } from '@ast-grep/napi'
import type { CodeLanguage } from './languages.ts'
import type { CodeCall, CodeDefinition } from './parsed-file.ts'

interface CallSource {
  language: CodeLanguage
  text: string
  definitions: readonly CodeDefinition[]
}

/**
 * The calls of a file. Most languages call with a parenthesis after a name, and looking for that is ten times as fast as finding the nodes; comments
 * and literals are passed over. An unclosed one ends with the line or the file, so no text makes this slow.
 */
export function findCalls(root: SgNode, { language, text, definitions }: CallSource): CodeCall[] {
  const found = language.calls ? callNodes(root, language.calls) : callsInText(text, LITERALS[language.literals])
  const defined = new Set(definitions.map(({ name, startLine }) => `${startLine} ${name}`))
  const inside = surroundings(definitions)
  return found
    .filter(({ name, line }) => !NOT_CALLED.has(name) && !defined.has(`${line} ${name}`))
    .map(({ name, line }) => {
      const around = inside(line)
      return around === undefined ? { name, line } : { name, line, inside: around }
    })
}

const NAME_AND_PARENTHESIS = /(?<![\w$])(?<name>[A-Za-z_$][\w$]*)(?:::)?(?:<[^<>()\n]{0,80}>)?!?\s{0,8}\(/.source
const LITERALS = {
  script: /\/\*[\s\S]*?(?:\*\/|$)|\/\/.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/.source,
  c: /\/\*[\s\S]*?(?:\*\/|$)|\/\/.*|"(?:\\.|[^"\\\n])*"?|'(?:\\[^'\n]{1,8}|[^'\\\n])'/.source,
  hash: /"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|#.*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/.source,
}
const NOT_CALLED = new Set(
  'if for while switch catch return function typeof await async yield new delete throw case do else elif def class with and or not in is lambda print sizeof match when until unless constructor super foreach isset empty array fn func fun where using lock fixed assert except import require pub'.split(
    ' ',
  ),
)

function callsInText(text: string, literals: string): { name: string; line: number }[] {
  const calls: { name: string; line: number }[] = []
  let line = 1
  let at = 0
  for (const match of text.matchAll(new RegExp(`${literals}|${NAME_AND_PARENTHESIS}`, 'g'))) {
    const name = match.groups?.name
    if (name === undefined) continue
    for (let next = text.indexOf('\n', at); next !== -1 && next < match.index; next = text.indexOf('\n', at)) {
      line += 1
      at = next + 1
    }
    calls.push({ name, line })
  }
  return calls
}

function callNodes(root: SgNode, kinds: Readonly<Record<string, string>>): { name: string; line: number }[] {
  return Object.entries(kinds).flatMap(([kind, field]) =>
    root.findAll({ rule: { kind } }).flatMap(node => {
      const name = node.field(field)?.text()
      return name !== undefined && /^[\w.-]+[?!]?$/.test(name) ? [{ name, line: node.range().start.line + 1 }] : []
    }),
  )
}

/** The name of the innermost function around a line; lines are asked for in rising order, or nearly so. */
function surroundings(definitions: readonly CodeDefinition[]): (line: number) => string | undefined {
  const byStart = definitions.filter(({ kind }) => kind !== 'variable' && kind !== 'type')
  let next = 0
  let around: CodeDefinition[] = []
  return line => {
    for (let each = byStart[next]; each && each.startLine <= line; each = byStart[next]) {
      around.push(each)
      next += 1
    }
    around = around.filter(({ endLine }) => endLine >= line)
    const inner = around.at(-1)
    if (!inner) return undefined
    return inner.container === undefined ? inner.name : `${inner.container}.${inner.name}`
  }
}
