import { placeOf } from '../../../paths/place.ts'
import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'

/** The words of a tool that runs the project's code: what points outside the project is no longer the project's. */
export function judgeToolWords(call: Call, args: readonly Arg[]): undefined {
  for (const arg of args) {
    const equals = isFlag(arg) ? arg.value.indexOf('=') : -1
    if (isFlag(arg) && equals < 0) continue
    const word = equals < 0 ? arg : { ...arg, value: arg.value.slice(equals + 1) }
    if (!arg.known) {
      call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
      continue
    }
    if (word.value.startsWith('@') && /^@[\w./-]+$/.test(word.value) && !word.value.includes('/'))
      call.say('tool.flag', 'MEDIUM', `${arg.text} may be a file with more words`, arg)
    if (/^[a-z][a-z+]*:\/\//i.test(word.value)) call.say('net.address', 'MEDIUM', `${arg.text} is an address`, arg)
    else if (looksOutside(word.value)) judgeOutside(call, word)
    call.secret(word)
  }
}

function looksOutside(value: string): boolean {
  return /^@?[/~]|[:,=][/~]/.test(value) || value.split('/').includes('..')
}

function judgeOutside(call: Call, arg: Arg): undefined {
  if (arg.value === '/dev/null' || arg.value === '/') {
    if (arg.value === '/') call.say('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
    return
  }
  const { cwd } = call.scope
  const place = cwd === undefined ? undefined : placeOf(arg.value, cwd, call.fence)
  if (place?.where !== 'inside') call.say('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
}
