import type { Call } from './call.ts'
import { isFlag } from './words/arg.ts'

/** Words that destroy, in whichever program. */
const DESTRUCTIVE =
  /^-*(delete|destroy|rm|rmi|rmdir|remove|drop|purge|prune|wipe|wipeall|format|erase|kill|killall|terminate|uninstall|unlink|truncate|publish|unpublish|upload|push|flush|flushall|flushdb|reset|teardown|nuke|clean-all|deprovision|revoke|shutdown|reboot|poweroff|factory-reset|undeploy|shred|overwrite|drop-database|delete-.*|destroy-.*|remove-.*|drop-.*|purge-.*|terminate-.*|.*[:.](delete|destroy|drop|purge|remove|reset|wipe))$/i
const FORCING =
  /^(--force|--yes|--assume-yes|--no-confirm|--noconfirm|--force-.*|--hard|--no-preserve-root|--i-know-what-i-am-doing|--yes-.*|--auto-approve|--delete|--overwrite)$/i

/** Words of the shell itself. As the name of a program they are a slip or a trick, and what follows was not read as a command. */
const RESERVED = new Set(
  '! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
)

/** A program without a rule: never LOW, and HIGH where its words sound like destruction. */
export function judgeUnknown(call: Call, bare: boolean): undefined {
  const { args, name } = call
  if (RESERVED.has(name)) return call.say('name.reserved', 'HIGH', `${name} is a word of the shell, not a program`)
  if (bare) call.say('program.unknown', 'MEDIUM', `${name} is not a program the policy knows`)
  for (const arg of args) {
    if (!arg.known) continue
    const [key, value] = isFlag(arg) && arg.value.includes('=') ? split(arg.value) : [arg.value, undefined]
    if (DESTRUCTIVE.test(key)) call.say('words.destructive', 'HIGH', `${arg.text} sounds like destruction`, arg)
    else if (FORCING.test(key) || (bare && (key === '-f' || key === '-y')))
      call.say('words.force', 'HIGH', `${arg.text} skips what would stop it`, arg)
    call.path({ ...arg, value: value ?? arg.value }, 'read')
  }
}

function split(flag: string): [string, string] {
  const equals = flag.indexOf('=')
  return [flag.slice(0, equals), flag.slice(equals + 1)]
}
