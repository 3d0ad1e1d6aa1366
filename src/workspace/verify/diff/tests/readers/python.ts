import { type Found, squeeze } from '../assertions/found.ts'
import { pythonAssertions } from '../assertions/python.ts'
import { closingOf, lineAt, partsOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { skipKind, worseSkip } from '../skip-kind.ts'
import type { Skip, TestCase } from '../test-case.ts'
import { blockAfter, markPythonTroubles } from './python-blocks.ts'

const FUNCTION = /^([ \t]*)(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(/gm

/** Tests of pytest and unittest. */
export function pythonTests(masked: Masked, file: string): TestCase[] {
  const { code, bare } = masked
  const whole = moduleSkip(masked)
  return [...code.matchAll(FUNCTION)].map(match => {
    const indent = match[1] ?? ''
    const [from, to] = blockAfter(code, match.index + match[0].length - 1, indent.length)
    const assertions: Found[] = pythonAssertions(masked, from, to)
    markPythonTroubles(masked, [from, to], assertions)
    const own = decorators(bare, match.index)
    const group = indent === '' ? '' : classDecorators(bare, code, match.index, indent.length)
    const skips = [whole, skipOf(own), skipOf(group), skipInside(masked, [from, to])]
    const skip = skips.reduce<Skip | undefined>((worst, each) => worseSkip(worst, each.skip), undefined)
    const skipText = skips.find(each => each.skip === skip)?.skipText
    return {
      name: match[2] ?? '',
      file,
      line: lineAt(masked.text, match.index),
      language: 'python' as const,
      ...(skip === undefined ? {} : { skip }),
      ...(skip === undefined || skipText === undefined ? {} : { skipText }),
      isFocused: false,
      body: squeeze(bare.slice(from, to)),
      assertions,
      cases: rowsOf(own),
      isHelper: false,
    }
  })
}

/** The lines with `@` right above a place, their brackets closed. */
function decorators(bare: string, at: number): string {
  const above = bare.slice(0, at).split('\n')
  above.pop()
  const taken: string[] = []
  for (let line = above.pop(); line !== undefined; line = above.pop()) {
    taken.unshift(line)
    if (/^\s*@/.test(line)) continue
    if (/^\s*$|^\s*(def|class|return|assert|import|from)\b|^[A-Za-z_]\w*\s*=/.test(line) || taken.length > 400) {
      taken.shift()
      break
    }
  }
  const text = taken.join('\n')
  const begin = text.search(/^[ \t]*@/m)
  return begin < 0 ? '' : text.slice(begin)
}

function classDecorators(bare: string, code: string, at: number, indent: number): string {
  let best: number | undefined
  for (const match of code.slice(0, at).matchAll(/^([ \t]*)class[ \t]+\w+/gm))
    if ((match[1]?.length ?? 0) < indent) best = match.index
  return best === undefined ? '' : decorators(bare, best)
}

type SkipFound = { skip?: Skip; skipText?: string }

function skipOf(text: string): SkipFound {
  const always = /@(?:pytest\.mark\.|unittest\.|mark\.)?(skip|xfail|expectedFailure)\b(?!if|If|Unless)(\([^\n]*)?/.exec(
    text,
  )
  if (always) {
    const condition = /^\(\s*(?:condition\s*=\s*)?([^"')=,]+),/.exec(always[2] ?? '')?.[1]
    const skip: Skip = condition === undefined ? 'always' : skipKind(condition)
    return { skip, skipText: `@${always[1]}` }
  }
  const conditional = /@(?:pytest\.mark\.|unittest\.|mark\.)?(skipif|skipIf|skipUnless)\s*\(/.exec(text)
  if (!conditional) return {}
  const open = conditional.index + conditional[0].length - 1
  const [first] = partsOf(text, open + 1, closingOf(text, open) - 1)
  const condition = first
    ? text
        .slice(...first)
        .replace(/^\s*condition\s*=/, '')
        .trim()
    : ''
  const turned = conditional[1] === 'skipUnless' ? `not ${condition}` : condition
  return { skip: skipKind(turned === 'not False' ? 'True' : turned), skipText: `@${conditional[1]}(${condition})` }
}

/** `pytestmark = pytest.mark.skip`, `pytest.skip(allow_module_level=True)`, `__test__ = False`. */
function moduleSkip({ bare }: Masked): SkipFound {
  const mark = /^pytestmark\s*=\s*(.*(?:\n\s+.*)*)/m.exec(bare)?.[1]
  if (mark !== undefined && /\b(skip|xfail)\b/.test(mark)) return { skip: 'always', skipText: 'pytestmark = skip' }
  const conditional = mark === undefined ? null : /skipif\s*\(\s*([^,\n]+)/.exec(mark)
  if (conditional) return { skip: skipKind(conditional[1] ?? ''), skipText: `pytestmark = skipif(${conditional[1]})` }
  if (/^pytest\.skip\([^\n]*allow_module_level/m.test(bare))
    return { skip: 'always', skipText: 'pytest.skip(allow_module_level)' }
  return /^__test__\s*=\s*False/m.test(bare) ? { skip: 'always', skipText: '__test__ = False' } : {}
}

function skipInside({ bare }: Masked, [from, to]: [number, number]): SkipFound {
  const found =
    /^([ \t]*)((?:if[ \t]+([^\n]+):[ \t]*)?)(?:raise[ \t]+)?(pytest\.(?:skip|xfail)|self\.skipTest|unittest\.SkipTest)\(/m.exec(
      bare.slice(from, to),
    )
  if (!found) return {}
  const name = `${found[4]}()`
  if (found[3] !== undefined) return { skip: skipKind(found[3]), skipText: `${name} if ${found[3]}` }
  const before =
    bare
      .slice(from, from + found.index)
      .trimEnd()
      .split('\n')
      .at(-1) ?? ''
  const guard = /^([ \t]*)if[ \t]+(.+):$/.exec(before)
  if (guard && (guard[1]?.length ?? 0) < (found[1]?.length ?? 0))
    return { skip: skipKind(guard[2] ?? ''), skipText: `${name} if ${guard[2]}` }
  return { skip: /^[ \t]*(except|else)/.test(before) ? 'condition' : 'always', skipText: name }
}

/** The rows of `@pytest.mark.parametrize("a,b", [ … ])`. */
function rowsOf(decorators: string): string[] {
  const rows: string[] = []
  for (const match of decorators.matchAll(/parametrize\s*\(/g)) {
    const open = match.index + match[0].length - 1
    const parts = partsOf(decorators, open + 1, closingOf(decorators, open) - 1)
    // The names are a text with commas in it: the rows are the first part that is a list.
    const list = parts.find(part => /^\s*[[(]/.test(decorators.slice(...part)))
    if (list === undefined) continue
    const begin = decorators.slice(...list).search(/[[(]/)
    const at = list[0] + begin
    rows.push(
      ...partsOf(decorators, at + 1, closingOf(decorators, at) - 1).map(part => squeeze(decorators.slice(...part))),
    )
  }
  return rows
}
