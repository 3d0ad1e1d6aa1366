import type { Call } from '../../call.ts'
import { isStandardDevice } from '../../effects/judge-file.ts'
import type { Arg } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeFlags } from '../common/reader.ts'
import { judgeScriptFile } from '../common/script-file.ts'

const FLAGS = flagTable({
  harmless: `-bcCgMnNOPrSst -F: -v: -f: -e: -L? --field-separator: --assign: --source: --file: --characters-as-bytes --traditional --copyright --gen-pot
    --bignum --non-decimal-data --use-lc-numeric --optimize --no-optimize --posix --re-interval --sandbox --lint? --lint-old --csv -k`,
  asks: '-W: -I --trace',
  writes: '-d? -o? -p? --dump-variables? --pretty-print? --profile?',
  runs: '-D? --debug? -i: --include: -l: --load: -E: --exec:',
})

/** awk: a program text first, then files. Its own language can write files and run commands. */
export function awk(call: Call): undefined {
  const seen = scanFlags(call.args, FLAGS)
  judgeFlags(call, seen)
  const texts: Arg[] = []
  let explicit = false
  for (const { name, value } of seen.flags) {
    if (!/^(f|file|i|include|l|load|E|exec|e|source)$/.test(name)) continue
    explicit = true
    if (value === undefined) continue
    if (/^(e|source)$/.test(name)) texts.push(value)
    else judgeScriptFile(call, value)
  }
  const [first, ...others] = seen.operands
  if (!explicit && first) texts.push(first)
  for (const arg of explicit ? seen.operands : others) call.path(arg, 'read')
  for (const text of texts) judgeText(call, text)
}

function judgeText(call: Call, program: Arg): undefined {
  if (!program.known)
    return call.say('code.unknown', 'MEDIUM', 'part of the awk program is known only when it runs', program)
  const bare = withoutLiterals(program.value)
  if (/\bsystem\s*\(|\bgetline\b|@\w|\||\bENVIRON\b/.test(bare))
    return call.say('code.alarming', 'HIGH', 'the awk program runs commands or reads elsewhere', program)
  if (/\bprintf?\b[^;}\n]*>/.test(withoutBrackets(bare)))
    call.say('write.program', 'HIGH', 'the awk program writes files', program)
}

/** The program with strings as `"` and regular expressions as a blank. After a value a slash divides. */
function withoutLiterals(text: string): string {
  let bare = ''
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? ''
    const isRegex = letter === '/' && /(^|[({},;!~&|\n]|\b(?:in|return))\s*$/.test(bare)
    if (letter === '"' || isRegex) {
      const end = endOf(text, at, letter)
      const inner = text.slice(at + 1, end)
      // Standard error is no file.
      if (letter === '"' && isStandardDevice(inner)) bare = bare.replace(/>>?\s*$/, '')
      bare += letter === '"' ? '"' : ' '
      at = end
    } else if (letter === '#') at = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at) - 1
    else bare += letter
  }
  return bare
}

function endOf(text: string, start: number, delimiter: string): number {
  let inside = false
  for (let at = start + 1; at < text.length; at++) {
    const letter = text[at]
    if (letter === '\\') at++
    else if (delimiter === '/' && letter === '[') inside = true
    else if (inside && letter === ']') inside = false
    else if (letter === delimiter && !inside) return at
  }
  return text.length
}

/** `print (a > b)` compares, `print a > b` writes. */
function withoutBrackets(text: string): string {
  let depth = 0
  let flat = ''
  for (const letter of text) {
    if (letter === '(') depth++
    else if (letter === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) flat += letter
  }
  return flat
}
