import type { Call } from '../../call.ts'
import { type Arg, isFlag, made } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeFlags } from '../common/reader.ts'
import { judgeScriptFile } from '../common/script-file.ts'

const FLAGS = flagTable({
  harmless: `-nErsuzb -e: -f: -l: -i? -I? -a --quiet --silent --expression: --file: --line-length: --in-place? --regexp-extended --separate
    --unbuffered --null-data --zero-terminated --posix --debug --sandbox --follow-symlinks --binary`,
})

/** sed: LOW as a filter, MEDIUM in place; its own commands `w`, `e`, `r` write, run and read. */
export function sed(call: Call): undefined {
  const inPlace = call.args.find(
    arg => /^(-[a-zA-Z]*i.*|--in-place.*)$/.test(arg.value) && !/^-[a-zA-Z]*[ef]/.test(arg.value),
  )
  judgeFlags(call, scanFlags(call.args, FLAGS))
  const file = findFlag(call.args, ['-f', '--file'], 'efls')
  if (file?.value) judgeScriptFile(call, file.value)
  const texts: Arg[] = []
  for (const [place, arg] of call.args.entries()) {
    const joined = /^(?:--expression=|-[a-zA-Z]*e)(.+)$/s.exec(arg.value)
    if (joined && isFlag(arg)) texts.push(made(joined[1] ?? '', arg))
    else if (/^(-[a-zA-Z]*e|--expression)$/.test(call.args[place - 1]?.value ?? '')) texts.push(arg)
  }
  const operands = operandsOf(call.args, ['-e', '-f', '-l', '--expression', '--file'])
  const explicit = texts.length > 0 || file !== undefined
  const [first, ...others] = operands
  if (!explicit && first) texts.push(first)
  const files = explicit ? operands : others
  for (const arg of texts) judgeSedText(call, arg)
  // BSD sed takes the suffix as a word of its own: `sed -i '' s/a/b/ file`.
  for (const arg of files) if (arg.value !== '') call.path(arg, inPlace ? 'write' : 'read')
  if (inPlace) call.say('file.edit', 'MEDIUM', 'sed -i changes files', inPlace)
}

function judgeSedText(call: Call, arg: Arg): undefined {
  if (!arg.known) return call.say('code.unknown', 'MEDIUM', 'part of the sed program is known only when it runs', arg)
  const bare = withoutSedStrings(arg.value)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*[wW]\s+\S|§[a-zA-Z0-9]*w/.test(bare))
    call.say('write.program', 'HIGH', 'the sed program writes files', arg)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*e(\s|$)|§[a-zA-Z0-9]*e/.test(bare))
    call.say('code.alarming', 'HIGH', 'the sed program runs commands', arg)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*[rR]\s+\S/.test(bare))
    call.say('code.inline', 'MEDIUM', 'the sed program reads another file', arg)
}

/** `s/a/b/` and `y/a/b/` with any delimiter become §, so that what follows is their flags; `/re/` becomes `/`. */
function withoutSedStrings(text: string): string {
  return text
    .replace(/(^|[;{}\n\s\d$,!/])[sy]([^\w\s\\;{}])(?:\\.|(?!\2)[^\\])*?\2(?:\\.|(?!\2)[^\\])*?\2/gs, '$1§')
    .replace(/\/(?:\\.|[^/\\])*\//g, '/')
}
