import { globFindsSecret, secretPart } from '../../../paths/secret-files.ts'
import type { Call } from '../../call.ts'
import { isFlag, made } from '../../words/arg.ts'

/** find: LOW, but for the actions that run, delete or write. */
export function find(call: Call): undefined {
  const { args } = call
  for (let place = 0; place < args.length; place++) {
    const arg = args[place]
    if (arg === undefined) break
    if (/^-(exec|execdir|ok|okdir)$/.test(arg.value)) {
      const end = args.findIndex(
        (one, at) => at > place && (one.value === ';' || (one.value === '+' && args[at - 1]?.value === '{}')),
      )
      const inner = args
        .slice(place + 1, end < 0 ? undefined : end)
        .map(one => (one.value === '{}' ? made('./{found}', one) : one))
      call.run(inner)
      if (end < 0) call.say('shell.unreadable', 'HIGH', 'find -exec without an end', arg)
      else place = end
    } else if (arg.value === '-delete') call.say('file.delete', 'HIGH', 'find -delete deletes files', arg)
    else if (/^-(fprint0?|fprintf|fls)$/.test(arg.value))
      call.say('write.flag', 'HIGH', `find ${arg.text} writes a file`, arg)
    else if (arg.value === '-files0-from') call.say('arg.unknown', 'MEDIUM', 'the folders come from a file', arg)
    else if (!arg.known) call.path(arg, 'read')
  }
  const named = args.find(
    (arg, at) => /^-i?(name|path|wholename)$/.test(args[at - 1]?.value ?? '') && findsSecret(arg.value),
  )
  if (named && args.some(arg => /^-(exec|execdir|ok|okdir)$/.test(arg.value)))
    call.say('path.secret', 'HIGH', `${named.text} finds files with secrets`, named)
  const stop = args.findIndex(arg => isFlag(arg) || /^[(!,)]/.test(arg.value))
  for (const arg of stop < 0 ? args : args.slice(0, stop)) {
    call.path(arg, 'read')
    const path = arg.value.replace(/\/+$/, '') || '/'
    if (path === '/' || path === call.scope.home)
      call.say('read.wide', 'MEDIUM', `${arg.text} is the whole machine or home`, arg)
  }
}

function findsSecret(pattern: string): boolean {
  return globFindsSecret(pattern) || secretPart(pattern) !== undefined
}
