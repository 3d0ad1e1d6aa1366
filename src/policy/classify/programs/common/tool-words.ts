import { judgePath } from '../../../paths/judge-path.ts'
import { placeOf } from '../../../paths/place.ts'
import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'

/** The words of a tool that runs the project's code: what points outside the project is no longer the project's. */
export function judgeToolWords(call: Call, args: readonly Arg[]): undefined {
  const onlyLooks = call.args.some(arg => LOOKS.test(arg.value))
  for (const arg of args) {
    const word = valueIn(arg)
    if (word === undefined) continue
    if (!arg.known) {
      call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
      continue
    }
    if (word.value.startsWith('@') && /^@[\w./-]+$/.test(word.value) && !word.value.includes('/'))
      call.say('tool.flag', 'MEDIUM', `${arg.text} may be a file with more words`, arg)
    if (/^[a-z][a-z+]*:\/\//i.test(word.value)) call.say('net.address', 'MEDIUM', `${arg.text} is an address`, arg)
    else if (looksOutside(word.value)) judgeOutside(call, word)
    call.secret(word)
    if (!onlyLooks) judgeSteering(call, word)
  }
}

/** Flags with which a tool changes no file that it is given. */
const LOOKS = /^(--check|-c|-l|--list-different|--noEmit|--diff|--dry-run|--fix-dry-run|-n)$/

/** A bare word, what stands behind `=`, or the path that is glued to a letter (`-c/tmp/x`). */
function valueIn(arg: Arg): Arg | undefined {
  if (!isFlag(arg)) return arg
  const equals = arg.value.indexOf('=')
  if (equals >= 0) return { ...arg, value: arg.value.slice(equals + 1) }
  const glued = /^-[A-Za-z]+?((?:[/~]|\.{1,2}\/).*)$/s.exec(arg.value)?.[1]
  return glued === undefined ? undefined : { ...arg, value: glued }
}

/** Most tools can write where their words say: what steers the agent, git or a shell is not theirs to touch. */
function judgeSteering(call: Call, arg: Arg): undefined {
  const { cwd } = call.scope
  if (!/(^|[/:])\.[a-z]/i.test(arg.value) || cwd === undefined) return
  const found = judgePath(arg.value.replace(/^.*:(?=\.)/, ''), 'write', { cwd, fence: call.fence })
  if (found.risk === 'HIGH' && /^path\.(guard|git|startup|hook|tool-config)$/.test(found.code))
    call.say(found.code, 'HIGH', found.text, arg)
}

function looksOutside(value: string): boolean {
  return (/^@?[/~]|[:,=@"'][/~]/.test(value) && !LABEL.test(value)) || value.split('/').includes('..')
}

/** `//pkg:target` is how some build tools name their targets. */
const LABEL = /^@?[\w.-]*\/\/[\w./-]*(:[\w./*-]+)?(\/?\.\.\.)?$/

function judgeOutside(call: Call, arg: Arg): undefined {
  if (arg.value === '/dev/null' || arg.value === '/') {
    if (arg.value === '/') call.say('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
    return
  }
  const { cwd } = call.scope
  // The path may stand behind something else: `xml:/etc/x`, `@/tmp/args`, `{"rootDir":"/tmp"}`.
  const path = arg.value.replace(/^.*?[:,=@"'](?=[/~])/s, '').replace(/["'}\],].*$/s, '')
  const place = cwd === undefined ? undefined : placeOf(path, cwd, call.fence)
  if (place?.where !== 'inside') call.say('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
}
