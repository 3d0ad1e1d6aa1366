import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'

export type Special = (call: Call, args: readonly Arg[]) => 'said' | undefined

/** The first word of this shape. */
export const has = (args: readonly Arg[], shape: RegExp): Arg | undefined => args.find(arg => shape.test(arg.value))

/** Commands whose flags change what they are. `said`: nothing is to be added. */
export const SPECIAL: Record<string, Special> = {
  push: (call, args) => {
    const force = args.find(
      arg =>
        /^(--force.*|--forc?e?|--mirror|--delete|--del.*|--prune|--pru.*|-[a-zA-Z46]*[fd][a-zA-Z46]*)$/.test(
          arg.value,
        ) &&
        !/^--(no-|follow|dry)/.test(arg.value) &&
        !/^-o/.test(arg.value),
    )
    if (force) return say(call, 'git.force', 'HIGH', `${force.text} overwrites or deletes what others have`, force)
    const operands = operandsOf(args, ['-o', '--push-option', '--repo', '--receive-pack', '--exec'])
    const plus = operands.find(arg => /^\+|:\+/.test(arg.value) || /^:./.test(arg.value))
    if (plus) return say(call, 'git.force', 'HIGH', `${plus.text} overwrites or deletes what others have`, plus)
    if (args.some(arg => !arg.known && !isFlag(arg) && arg.value.startsWith('\0')))
      return say(call, 'git.force', 'HIGH', 'what is pushed is known only when it runs')
    for (const arg of operands)
      if (/^(https?|ssh|git|file):|^[^/]+@[^/]+:|^\.{0,2}\/|^~/.test(arg.value))
        return say(call, 'git.push-elsewhere', 'HIGH', `${arg.text} is not a remote of the project`, arg)
    return undefined
  },
  clean: (call, args) => {
    if (has(args, /^(-[a-zA-Z]*n[a-zA-Z]*|--dry-run)$/) && !has(args, /^-[a-zA-Z]*f|^--force/)) return undefined
    return say(call, 'git.force', 'HIGH', 'git clean deletes files that are in no commit')
  },
  reset: (call, args) => {
    const hard = has(args, /^--(ha|me|ke)[a-z]*$/)
    if (hard) return say(call, 'git.destroy', 'HIGH', `${hard.text} throws away changes`, hard)
    const moves = operandsOf(args).find(arg => /[~^@{]|^(origin|upstream)\//.test(arg.value) && arg.value !== 'HEAD')
    return moves && !has(args, /^--$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it moves the branch', moves) : undefined
  },
  checkout: (call, args) => {
    const force = has(args, /^(-[a-zA-Z]*f[a-zA-Z]*|--force|-B|--ours|--theirs|--orphan|-p|--patch)$/)
    if (force) return say(call, 'git.destroy', 'HIGH', `${force.text} throws away changes`, force)
    const dash = args.findIndex(arg => arg.value === '--')
    const dot = has(args, /^(\.|\.\/|\*|:\/|:\(.*\).*)$/)
    if (dash >= 0 || dot)
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', dot ?? args[dash])
    const listed = has(args, /^--pathspec/)
    if (listed) return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', listed)
    const operands = operandsOf(args, ['-b', '-t'])
    if (!has(args, /^-b$/) && operands.length > 1)
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[1])
    if (operands.some(arg => FILES.test(arg.value)))
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[0])
    return undefined
  },
  switch: (call, args) => {
    const force = has(args, /^(-f|--force|--discard-changes|-C|--force-create|--orphan|--disc.*)$/)
    return force ? say(call, 'git.destroy', 'HIGH', `${force.text} throws away changes`, force) : undefined
  },
  restore: (call, args) => {
    const source = findFlag(args, ['--source', '-s'], 's')
    if (source) for (const arg of operandsOf(args, ['--source', '-s'])) call.path(arg, 'write')
    const both = has(args, /^(-SW|-WS)$/) ?? (has(args, /^(--st[a-z]*|-S)$/) && has(args, /^(--w[a-z]*|-W)$/))
    if (both) return say(call, 'git.destroy', 'HIGH', `${both.text} throws away changes in both places`, both)
    if (has(args, /^(--st[a-z]*|-S)$/)) return undefined
    const listed = has(args, /^--pathspec/)
    if (listed) return say(call, 'git.destroy', 'HIGH', 'git restore throws away changes of many files', listed)
    const wide = has(args, /^(\.|\.\/|\*|:\/|:\(.*|--source.*|-s.*)$/)
    return wide ? say(call, 'git.destroy', 'HIGH', 'git restore throws away changes of many files', wide) : undefined
  },
  branch: (call, args) => {
    const force = has(args, /^(-[a-zA-Z]*[DMCf][a-zA-Z]*|--force|--fo.*)$/)
    if (force) return say(call, 'git.destroy', 'HIGH', `${force.text} deletes or overwrites a branch`, force)
    const edits = has(
      args,
      /^(-d|--delete|-m|--move|-c|--copy|-u|--set-upstream-to.*|--unset-upstream|--edit-description|--del.*)$/,
    )
    return edits ? say(call, 'git.branch-edit', 'MEDIUM', `${edits.text} changes branches`, edits) : undefined
  },
  stash: (call, args) => {
    const [verb] = operandsOf(args)
    return verb && /^(clear|drop)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git stash ${verb.text} throws away work`, verb)
      : undefined
  },
  tag: (call, args) => {
    const edits = has(args, /^(-[a-zA-Z]*[df][a-zA-Z]*|--delete|--force)$/)
    return edits ? say(call, 'git.destroy', 'HIGH', `${edits.text} deletes or overwrites tags`, edits) : undefined
  },
  reflog: (call, args) => {
    const [verb] = operandsOf(args)
    return verb && /^(expire|delete|drop)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git reflog ${verb.text} removes the way back`, verb)
      : undefined
  },
  gc: (call, args) =>
    has(args, /^--(prune|aggressive|force)/) ? undefined : say(call, 'git.gc', 'MEDIUM', 'git gc tidies up', args[0]),
  remote: (call, args) => {
    const [verb] = operandsOf(args)
    if (!verb || /^(show|get-url)$/.test(verb.value)) return undefined
    return say(
      call,
      'git.remote-edit',
      /^(remove|rm|set-url|prune)$/.test(verb.value) ? 'HIGH' : 'MEDIUM',
      `git remote ${verb.text} changes where work goes`,
      verb,
    )
  },
}

/** Says something about a git command, and that this was all. */
export function say(call: Call, code: string, risk: 'MEDIUM' | 'HIGH', text: string, at?: Arg): 'said' {
  call.say(code, risk, text, at)
  return 'said'
}

/** Words that are files or folders of most projects, and no names of branches. */
const FILES =
  /\.[a-z0-9]{1,5}$|^(src|tests?|lib|app|docs?|packages|scripts|public|config|bin|cmd|pkg|internal|Makefile|Dockerfile|README|LICENSE)(\/|$)/i
