import type { Call } from '../../call.ts'
import { type Arg, made } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeFlags, judgeWritten } from '../common/reader.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { readSedScript } from './sed-script.ts'

const FLAGS = flagTable({
  harmless: `-nErsuzba -e: -f: -l: -i? -I? --quiet --silent --line-length: --regexp-extended --separate --unbuffered
    --null-data --zero-terminated --posix --debug --sandbox --follow-symlinks --binary`,
  // Not harmless in themselves, so that abbreviations of them count.
  asks: '--expression: --file: --in-place?',
})

/** sed: LOW as a filter, MEDIUM in place; its own commands `w`, `e`, `r` write, run and read. */
export function sed(call: Call): undefined {
  const seen = scanFlags(call.args, FLAGS)
  judgeFlags(call, { ...seen, flags: [] })
  const inPlace = seen.flags.find(flag => /^(i|I|in-place)$/.test(flag.name))
  const texts: Arg[] = []
  let explicit = false
  for (const { name, value } of seen.flags) {
    if (!/^(e|expression|f|file)$/.test(name)) continue
    explicit = true
    if (value && /^e/.test(name)) texts.push(value)
    else if (value) judgeScriptFile(call, value)
  }
  // BSD sed takes the suffix as a word of its own: `sed -i '' s/a/b/ file`.
  const words = inPlace && seen.operands[0]?.value === '' ? seen.operands.slice(1) : seen.operands
  const [first, ...others] = words
  if (!explicit && first) texts.push(first)
  judgeTexts(call, texts)
  for (const arg of explicit ? words : others) call.path(arg, inPlace ? 'write' : 'read')
  if (inPlace) call.say('file.edit', 'MEDIUM', 'sed -i changes files', inPlace.arg)
}

/** Several texts are one script, a line each. */
function judgeTexts(call: Call, texts: readonly Arg[]): undefined {
  const [first] = texts
  if (first === undefined) return
  const unknown = texts.find(arg => !arg.known)
  if (unknown) return call.say('code.unknown', 'MEDIUM', 'part of the sed program is known only when it runs', unknown)
  const { writes, reads, runs, readable } = readSedScript(texts.map(arg => arg.value).join('\n'))
  if (!readable) call.say('code.unknown', 'HIGH', 'the sed program cannot be read', first)
  if (runs) call.say('code.alarming', 'HIGH', 'the sed program runs commands', first)
  for (const path of writes) judgeWritten(call, first, made(path, first))
  for (const path of reads) {
    call.path(made(path, first), 'read')
    call.say('code.inline', 'MEDIUM', 'the sed program reads another file', first)
  }
}
