import type { Call } from '../../call.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { judgeScriptFile } from '../common/script-file.ts'

/** awk: a program text first, then files. Its own language can write files and run commands. */
export function awk(call: Call): undefined {
  const file = findFlag(call.args, ['-f', '--file', '-i', '--include', '-l', '--load', '-E', '--exec'], 'Fvf')
  if (file?.value) return judgeScriptFile(call, file.value)
  const operands = operandsOf(call.args, ['-F', '-v', '--field-separator', '--assign'])
  const [program, ...files] = operands
  for (const arg of files) call.path(arg, 'read')
  if (program === undefined) return
  if (!program.known)
    return call.say('code.unknown', 'MEDIUM', 'part of the awk program is known only when it runs', program)
  const bare = program.value.replace(/"(?:[^"\\]|\\.)*"/g, '"').replace(/\/(?:[^/\\\n]|\\.)+\//g, ' ')
  if (/\bsystem\s*\(|\bgetline\b|@(load|include)|\||\bENVIRON\b/.test(bare))
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
