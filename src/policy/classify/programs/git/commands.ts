import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { RUNS_PROGRAM } from './settings.ts'

type Special = (call: Call, args: readonly Arg[]) => 'said' | undefined

const has = (args: readonly Arg[], shape: RegExp): Arg | undefined => args.find(arg => shape.test(arg.value))

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
    const hard = has(args, /^--(hard|merge|keep|har?|ha.*)$/)
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
    const operands = operandsOf(args, ['-b', '-t'])
    if (!has(args, /^-b$/) && operands.length > 1)
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[1])
    if (operands.some(arg => /\.[a-z0-9]{1,5}$|^(src|test|tests|lib|app)\//i.test(arg.value)))
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[0])
    return undefined
  },
  switch: (call, args) => {
    const force = has(args, /^(-f|--force|--discard-changes|-C|--force-create|--orphan|--disc.*)$/)
    return force ? say(call, 'git.destroy', 'HIGH', `${force.text} throws away changes`, force) : undefined
  },
  restore: (call, args) => {
    const staged = has(args, /^(--staged|-S)$/) && !has(args, /^(--worktree|-W|-SW|-WS)$/)
    if (staged) return undefined
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
  config: (call, args) => {
    const operands = operandsOf(args, ['-f', '--file', '--blob', '--type', '--default', '--comment']).filter(
      arg => !/^(get|set|list|unset|edit|rename-section|remove-section)$/.test(arg.value),
    )
    const reads =
      has(
        args,
        /^(--get|--get-all|--get-regexp|--list|-l|--get-urlmatch|get|list|--show-origin|--show-scope|--get-color.*)$/,
      ) ||
      (operands.length === 1 &&
        !has(args, /^(--unset.*|--replace.*|--add|--edit|-e|--remove.*|--rename.*|unset|edit|set|--unset)$/))
    if (reads && !has(args, /^(set|unset|edit|--edit|-e|--add|--unset.*|--replace-all|--remove-section)$/))
      return undefined
    const [key] = operands
    const wide = has(args, /^--(global|system)$/)
    if (wide) return say(call, 'git.setting', 'HIGH', `${wide.text} changes git for everything a person does`, wide)
    if (
      !key ||
      RUNS_PROGRAM.test(key.value) ||
      !key.known ||
      has(args, /^(-e|--edit|edit|--remove-section|--rename-section|remove-section|-f|--file.*)$/)
    )
      return say(
        call,
        'git.setting',
        'HIGH',
        `${key?.text ?? 'it'} decides which programs git runs or where it goes`,
        key,
      )
    return say(call, 'git.config-set', 'MEDIUM', `${key.text} is changed`, key)
  },
  rebase: (call, args) => {
    const run = findFlag(args, ['-x', '--exec'], 'xsXCS')
    if (run?.value) call.shell(run.value)
    if (run) return say(call, 'git.exec', 'MEDIUM', 'git rebase runs a command', run.arg)
    return say(call, 'git.rewrite', 'MEDIUM', 'git rebase rewrites the branch', args[0])
  },
  bisect: (call, args) => {
    const [verb, ...rest] = args
    if (verb?.value !== 'run') return undefined
    call.run(rest)
    return say(call, 'git.exec', 'MEDIUM', 'git bisect runs a command', verb)
  },
  submodule: (call, args) => {
    const operands = operandsOf(args)
    const [verb, ...rest] = operands
    if (verb?.value === 'foreach') {
      const [first] = rest
      if (first)
        call.shell({ ...first, value: rest.map(arg => arg.value).join(' '), known: rest.every(arg => arg.known) })
      return say(call, 'git.exec', 'MEDIUM', 'git submodule foreach runs a command', verb)
    }
    if (verb && /^(deinit)$/.test(verb.value))
      return say(call, 'git.destroy', 'HIGH', 'git submodule deinit removes files', verb)
    return verb && !/^(status|summary)$/.test(verb.value)
      ? say(call, 'git.submodule-edit', 'MEDIUM', `git submodule ${verb.text}`, verb)
      : undefined
  },
  worktree: (call, args) => {
    const [verb] = operandsOf(args)
    if (verb && /^(remove|prune)$/.test(verb.value))
      return say(call, 'git.destroy', 'HIGH', `git worktree ${verb.text} removes a place with work`, verb)
    return verb && verb.value !== 'list'
      ? say(call, 'git.worktree-edit', 'MEDIUM', `git worktree ${verb.text}`, verb)
      : undefined
  },
  grep: (call, args) => {
    const pager = has(args, /^(-O.*|--open-files-in-pager.*)$/)
    return pager ? say(call, 'git.exec', 'HIGH', `${pager.text} runs a program`, pager) : undefined
  },
  rm: (call, args) => {
    const wide = has(args, /^(-[a-zA-Z]*[fr][a-zA-Z]*|--force|\.|\*)$/)
    if (has(args, /^--cached$/)) return undefined
    return wide ? say(call, 'file.delete', 'HIGH', 'git rm deletes files', wide) : undefined
  },
  lfs: (call, args) => {
    const [verb] = operandsOf(args)
    return verb && /^(prune|uninstall|migrate|dedup)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git lfs ${verb.text} removes data`, verb)
      : undefined
  },
  merge: (call, args) =>
    has(args, /^--(abort|quit)$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it gives up a merge') : undefined,
  commit: (call, args) => {
    for (const flag of ['-F', '--file', '-t', '--template']) {
      const file = findFlag(args, [flag], 'mFCctS')
      if (file?.value) call.path(file.value, 'read')
    }
    return has(args, /^--amend$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it rewrites the last commit') : undefined
  },
  add: (call, args) => {
    for (const arg of args) if (!isFlag(arg)) call.secret(arg)
    const force = has(args, /^(-f|--force)$/)
    return force ? say(call, 'git.add-forced', 'MEDIUM', 'it adds what is ignored on purpose', force) : undefined
  },
  clone: (call, args) => {
    const odd = has(args, /^(-c|--config|-u|--upload-pack.*|--template.*|--recurse-submodules.*|--recursive)$/)
    if (odd)
      call.say(
        'git.exec',
        /^(-c|--config|-u|--upload|--template)/.test(odd.value) ? 'HIGH' : 'MEDIUM',
        `${odd.text} makes git run or fetch more`,
        odd,
      )
    const target = operandsOf(args, [
      '-b',
      '--branch',
      '--depth',
      '-o',
      '-c',
      '--config',
      '-u',
      '--reference',
      '--filter',
      '-j',
      '--template',
    ])[1]
    if (target) call.path(target, 'write')
    return undefined
  },
  archive: (call, args) =>
    has(args, /^(-o.*|--remote.*)$/)
      ? say(call, 'write.flag', 'HIGH', 'git archive writes a file or asks another machine')
      : undefined,
  'format-patch': (call, args) =>
    has(args, /^--stdout$/) ? undefined : say(call, 'write.files', 'MEDIUM', 'git format-patch writes files'),
  bundle: (call, args) =>
    has(args, /^(create|unbundle)$/) ? say(call, 'write.flag', 'HIGH', 'git bundle writes a file') : undefined,
  init: (call, args) => {
    for (const arg of operandsOf(args, ['--template', '-b', '--separate-git-dir'])) call.path(arg, 'write')
    return undefined
  },
  notes: (call, args) =>
    has(args, /^(remove|prune)$/) ? say(call, 'git.destroy', 'HIGH', 'git notes throws away notes') : undefined,
  help: (call, args) => (has(args, /^(-w|--web)$/) ? say(call, 'git.exec', 'MEDIUM', 'it opens a browser') : 'said'),
  'cherry-pick': () => undefined,
}

function say(call: Call, code: string, risk: 'MEDIUM' | 'HIGH', text: string, at?: Arg): 'said' {
  call.say(code, risk, text, at)
  return 'said'
}
