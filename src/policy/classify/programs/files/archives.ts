import type { Call } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'
import { findFlag, findFlags, operandsOf } from '../../words/flags.ts'
import { comesFromNetwork } from '../common/from-network.ts'

/** Flags with which a list stays a list. */
const LISTING =
  /^(-[fvzjJatCOS]+|--(list|verbose|file|gzip|bzip2|xz|zstd|auto-compress|wildcards|no-wildcards|exclude|strip-components|full-time|numeric-owner|directory|no-recursion|utc|block-number|occurrence)(=.*)?)$/

export function tar(call: Call): undefined {
  const { args } = call
  const runs = args.find(
    arg =>
      /^--(checkpoint-action|use-compress-program|to-command|rsh-command|info-script|new-volume-script|rmt-command)/.test(
        arg.value,
      ) ||
      /^--(check.*-a|use-c|to-c|rs|inf.*s|new-v|rm)/.test(arg.value) ||
      /^-[a-zA-Z]*[IF]/.test(arg.value),
  )
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes tar run a program`, runs)
  const remote = operandsOf(args).find(arg => /^[\w.@-]+:/.test(arg.value))
  if (remote && !args.some(arg => arg.value === '--force-local'))
    call.say('net.transfer', 'HIGH', `${remote.text} is an archive on another machine`, remote)
  const removes = args.find(arg => /^--(remove-files|delete|recursive-unlink|unlink-first|overwrite)/.test(arg.value))
  if (removes) call.say('file.delete', 'HIGH', `${removes.text} deletes files`, removes)
  const mode = args[0]?.value ?? ''
  const lists =
    /^(--list|-?[fvzjJaZ]*t[fvzjJaZ]*)$/.test(mode) && !/[xcru]/.test(mode.replace(/^-/, '').replace(/[fvzjJ]/g, ''))
  for (const into of findFlags(args, ['-C', '--directory', '--one-top-level'], 'Cfb'))
    if (into.value) call.path(into.value, lists ? 'read' : 'write')
  if (!lists && comesFromNetwork(call))
    call.say('net.download', 'HIGH', 'what comes from the network is unpacked unseen')
  for (const arg of operandsOf(args)) call.secret(arg)
  if (args.some(arg => /^(-[a-zA-Z]*P|--absolute-names)/.test(arg.value)))
    call.say('file.archive', 'HIGH', 'tar takes absolute names as they are')
  const odd = lists ? args.slice(1).find(arg => isFlag(arg) && !LISTING.test(arg.value)) : undefined
  if (odd) call.say('flag.unknown', 'MEDIUM', `${odd.text} is not a flag of ${call.name} that the policy knows`, odd)
  if (!lists) call.say('file.archive', 'MEDIUM', 'tar packs or unpacks files')
  const out =
    findFlag(args, ['-f', '--file'], 'fCbXT') ??
    (/^[a-zA-Z]*f/.test(mode) && args[1] ? { arg: args[0] ?? args[1], value: args[1] } : undefined)
  if (out?.value && /c|r|u|A/.test(mode.replace(/^--?/, '')) && !lists && out.value.value !== '-')
    call.path(out.value, 'write')
}

export function archive(call: Call): undefined {
  call.say('file.archive', 'MEDIUM', `${call.name} packs or unpacks files`)
  for (const arg of operandsOf(call.args)) call.secret(arg)
}
