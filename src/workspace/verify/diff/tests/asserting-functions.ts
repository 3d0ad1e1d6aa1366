import type { Language } from '../change/file-kind.ts'
import type { Found } from './assertions/found.ts'
import { goAssertions } from './assertions/go.ts'
import { javascriptAssertions } from './assertions/javascript.ts'
import { pythonAssertions } from './assertions/python.ts'
import { rustAssertions } from './assertions/rust.ts'
import { closingOf, lineAt } from './brackets.ts'
import type { Masked } from './mask.ts'
import { blockAfter } from './readers/python-blocks.ts'

/** A function that tests may call, with what it asserts. */
export interface HelperFunction {
  name: string
  line: number
  body: [number, number]
  assertions: Found[]
}

const DECLARED: Record<Language, RegExp> = {
  javascript:
    /(?:function\*?\s+([A-Za-z_$][\w$]*)\s*(?:<[^>(]*>)?\s*\(|(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function\s*\w*\s*)?\()/g,
  python: /^[ \t]*(?:async[ \t]+)?def[ \t]+(?!test)(\w+)[ \t]*\(/gm,
  go: /^func\s+(?:\([^)]*\)\s*)?((?!Test|Benchmark|Fuzz|Example)\w+)\s*(?:\[[^\]]*\])?\(/gm,
  rust: /\bfn\s+(\w+)\s*(?:<[^>]*>)?\s*\(/g,
}

/** Functions of a file that are no tests themselves. */
export function helperFunctions(
  masked: Masked,
  language: Language,
  isTest: (name: string) => boolean,
): HelperFunction[] {
  const { code } = masked
  const found: HelperFunction[] = []
  for (const match of code.matchAll(DECLARED[language])) {
    const name = match[1] ?? match[2] ?? ''
    if (name === '' || isTest(name)) continue
    const open = match.index + match[0].length - 1
    const body = language === 'python' ? pythonBody(code, match[0], open) : bracedBody(code, open)
    if (body === undefined) continue
    const assertions = assertionsOf(masked, language, body)
    found.push({ name, line: lineAt(masked.text, match.index), body, assertions })
  }
  return found
}

function assertionsOf(masked: Masked, language: Language, [from, to]: [number, number]): Found[] {
  switch (language) {
    case 'javascript':
      return javascriptAssertions(masked, from, to)
    case 'python':
      return pythonAssertions(masked, from, to)
    case 'go':
      return goAssertions(masked, from, to)
    case 'rust':
      return rustAssertions(masked, from, to)
  }
}

function pythonBody(code: string, head: string, open: number): [number, number] {
  return blockAfter(code, open, /^[ \t]*/.exec(head)?.[0].length ?? 0)
}

/** After the parameters: a block, or the one expression of an arrow. */
function bracedBody(code: string, open: number): [number, number] | undefined {
  const end = closingOf(code, open)
  const between = /^[^{};]*?(=>|\{)\s*/.exec(code.slice(end, end + 300))
  if (!between) return undefined
  const at = end + between[0].length
  const brace = between[1] === '{' ? end + between[0].indexOf('{') : code[at] === '{' ? at : undefined
  if (brace !== undefined) return [brace, closingOf(code, brace)]
  const line = code.indexOf('\n', at)
  const paren = code.indexOf('(', at)
  if (paren >= 0 && (line < 0 || paren < line)) return [at, Math.max(closingOf(code, paren), line)]
  return [at, line < 0 ? code.length : line]
}
