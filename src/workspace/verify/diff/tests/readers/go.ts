import { squeeze } from '../assertions/found.ts'
import { goAssertions } from '../assertions/go.ts'
import { closingOf, lineAt, partsOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { skipKind } from '../skip-kind.ts'
import type { Skip, TestCase } from '../test-case.ts'
import { markTroubles } from '../troubles.ts'

const BEGINS = /^func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(([^)]*)\)\s*\{/gm

/** Tests of `go test`, with their subtests and tables inside. */
export function goTests(masked: Masked, file: string): TestCase[] {
  const { code } = masked
  const left = buildTag(masked)
  return [...code.matchAll(BEGINS)]
    .filter(match => match[1] !== 'TestMain')
    .map(match => {
      const open = match.index + match[0].length - 1
      const body: [number, number] = [open, closingOf(code, open)]
      const assertions = goAssertions(masked, ...body)
      // `if got != want { t.Error() }` is how an assertion is written: only an `if` around that one is a condition.
      markTroubles(masked, body, assertions, 1)
      const skip = left ?? skipInside(masked, body)
      return {
        name: match[1] ?? '',
        file,
        line: lineAt(masked.text, match.index),
        language: 'go' as const,
        ...skip,
        isFocused: false,
        body: squeeze(masked.bare.slice(...body)),
        assertions,
        cases: tableOf(masked, body),
        isHelper: false,
      }
    })
}

/** `//go:build ignore` leaves out the whole file. */
function buildTag({ text }: Masked): { skip: Skip; skipText: string } | undefined {
  const tag = /^\/\/go:build\s+(.+)$/m.exec(text.slice(0, 4_000))?.[1]?.trim()
  if (tag === undefined || /^(unit|test)$/.test(tag)) return undefined
  const isPlatform = /^!?\(?\s*(windows|darwin|linux|unix|freebsd|amd64|arm64|cgo|race|go1\.\d+)/.test(tag)
  const skip: Skip = isPlatform ? 'elsewhere' : 'always'
  return { skip, skipText: `//go:build ${tag}` }
}

function skipInside({ code, bare }: Masked, [from, to]: [number, number]): { skip?: Skip; skipText?: string } {
  const found = /(?<![\w.])(?:t|tb|s\.T\(\))\.(Skip|Skipf|SkipNow)\(/.exec(code.slice(from, to))
  if (!found) return {}
  const at = from + found.index
  let depth = 0
  for (let place = at - 1; place > from; place--) {
    if (code[place] === '}') depth += 1
    else if (code[place] === '{' && depth > 0) depth -= 1
    else if (code[place] === '{') {
      const line = bare.slice(bare.lastIndexOf('\n', place) + 1, place)
      const condition = /\bif\s+(.*)$/.exec(line)?.[1]
      // In a subtest or a loop it leaves out only some: which, is known when it runs.
      return {
        skip: condition === undefined ? 'always' : skipKind(goCondition(condition)),
        skipText: `t.${found[1]}()${condition ? ` if ${condition}` : ''}`,
      }
    }
  }
  return { skip: 'always', skipText: `t.${found[1]}()` }
}

function goCondition(condition: string): string {
  const last = condition.slice(condition.lastIndexOf(';') + 1).trim()
  return /os\.(Getenv|LookupEnv)/.test(condition) ? condition : /LookPath/.test(condition) ? 'LookPath' : last
}

/** The rows of `tests := []struct{…}{ … }`. */
function tableOf({ code, bare }: Masked, [from, to]: [number, number]): string[] {
  const table = /(?:\[\]struct\s*\{[^{}]*\}|\[\]\w+|map\[string\](?:struct\s*\{[^{}]*\}|\w+))\s*\{/.exec(
    code.slice(from, to),
  )
  if (!table) return []
  const open = from + table.index + table[0].length - 1
  return partsOf(code, open + 1, closingOf(code, open) - 1).map(part => squeeze(bare.slice(...part)))
}
