import type { Call } from '../../call.ts'
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
  const bare = program.value.replace(/"(?:[^"\\]|\\.)*"/g, '"').replace(/\/(?:[^/\\\n]|\\.)+\//g, ' ')
  if (/\bsystem\s*\(|\bgetline\b|@\w|\||\bENVIRON\b/.test(bare))
    return call.say('code.alarming', 'HIGH', 'the awk program runs commands or reads elsewhere', program)
  if (/\bprintf?\b[^;}\n]*>/.test(withoutBrackets(bare)))
    call.say('write.program', 'HIGH', 'the awk program writes files', program)
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
