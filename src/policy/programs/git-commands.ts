import { LOCK_FILE } from '../../domain/package-managers.ts'
import type { ProgramCall } from '../classify/call.ts'
import { type Arg, findFlag, findOperands, isFlag } from '../shell/args.ts'

export type GitCommandRule = (call: ProgramCall, args: readonly Arg[]) => 'said' | undefined

/** The first word that matches. */
export const has = (args: readonly Arg[], shape: RegExp): Arg | undefined => args.find(arg => shape.test(arg.value))

/** Whether the first operand of a push or a fetch is an address and no remote by its name: `https://…`, `host:path`, a folder. */
export function isAddress(remote: string): boolean {
  return /:|^\.{0,2}\/|^~|^\.{1,2}$/.test(remote)
}

/** Commands whose risk depends on their flags. `said` means that nothing more is to be added. */
export const GIT_COMMANDS: Record<string, GitCommandRule> = {
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
    const operands = findOperands(args, ['-o', '--push-option', '--repo', '--receive-pack', '--exec'])
    const plus = operands.find(arg => /^\+|:\+/.test(arg.value) || /^:./.test(arg.value))
    if (plus) return say(call, 'git.force', 'HIGH', `${plus.text} overwrites or deletes what others have`, plus)
    if (args.some(arg => !arg.known && !isFlag(arg) && arg.value.startsWith('\0')))
      return say(call, 'git.force', 'HIGH', 'what is pushed is known only when it runs')
    const [remote] = operands
    // The hook of the project runs, and nothing is sent.
    const isTried = args.every(({ known, value }) => known && /^(--dry-run|-n|-u|-v|[\w][\w./-]*)$/.test(value))
    if (isTried && has(args, /^(--dry-run|-n)$/)) return say(call, 'git.fetch', 'MEDIUM', 'git says what it would push')
    return remote && isAddress(remote.value)
      ? say(call, 'git.push-elsewhere', 'HIGH', `${remote.text} is not a remote of the project`, remote)
      : undefined
  },
  clean: (call, args) => {
    if (has(args, /^(-[a-zA-Z]*n[a-zA-Z]*|--dry-run)$/) && !has(args, /^-[a-zA-Z]*f|^--force/)) return undefined
    return say(call, 'git.force', 'HIGH', 'git clean deletes files that are in no commit')
  },
  reset: (call, args) => {
    const hard = has(args, /^--(h|ha[a-z]*|me[a-z]*|k|ke[a-z]*)$/)
    if (hard) return say(call, 'git.destroy', 'HIGH', `${hard.text} throws away changes`, hard)
    const moves = findOperands(args).find(arg => /[~^@{]|^(origin|upstream)\//.test(arg.value) && arg.value !== 'HEAD')
    return moves && !has(args, /^--$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it moves the branch', moves) : undefined
  },
  checkout: (call, args) => {
    const force = has(
      args,
      /^(-[a-zA-Z]*f[a-zA-Z]*|--f|--fo|--for|--forc|--force|-B|--ou|--our|--ours|--th|--the.*|--or|--orp.*|-p|--pat|--patc|--patch)$/,
    )
    if (force) return say(call, 'git.destroy', 'HIGH', `${force.text} throws away changes`, force)
    const dash = args.findIndex(arg => arg.value === '--')
    // Tools make them again of the manifest.
    const files = dash < 0 ? [] : args.slice(dash + 1)
    if (files.length > 0 && files.every(({ known, value }) => known && LOCK_FILE.test(value))) return undefined
    const dot = has(args, /^(\.|\.\/|\*|:\/|:\(.*\).*)$/)
    if (dash >= 0 || dot)
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', dot ?? args[dash])
    const listed = has(args, /^--pathspec/)
    if (listed) return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', listed)
    const operands = findOperands(args, ['-b', '-t'])
    if (!has(args, /^-b$/) && operands.length > 1)
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[1])
    if (operands.some(arg => FILES.test(arg.value)))
      return say(call, 'git.destroy', 'HIGH', 'git checkout with files throws away their changes', operands[0])
    return undefined
  },
  switch: (call, args) => {
    const force = has(
      args,
      /^(-[a-zA-Z]*[fC][a-zA-Z]*|--f|--fo|--for|--forc|--force|--force-create|--o|--or|--orphan|--di.*)$/,
    )
    return force ? say(call, 'git.destroy', 'HIGH', `${force.text} throws away changes`, force) : undefined
  },
  restore: (call, args) => {
    const source = findFlag(args, ['--source', '-s'], 's')
    if (source) for (const arg of findOperands(args, ['--source', '-s'])) call.path(arg, 'write')
    const both = has(args, /^(-SW|-WS)$/) ?? (has(args, /^(--st[a-z]*|-S)$/) && has(args, /^(--w[a-z]*|-W)$/))
    if (both)
      return say(call, 'git.destroy', 'HIGH', `${both.text} throws away changes in the files and in the index`, both)
    if (has(args, /^(--st[a-z]*|-S)$/)) return undefined
    const listed = has(args, /^--pathspec/)
    if (listed) return say(call, 'git.destroy', 'HIGH', 'git restore throws away changes of many files', listed)
    const wide = has(args, /^(\.|\.\/|\*|:\/|:\(.*|--source.*|-s.*)$/)
    if (wide) return say(call, 'git.destroy', 'HIGH', 'git restore throws away changes of many files', wide)
    // In a worktree of its own an agent may take back what it did; elsewhere it may be the person's work.
    if (call.fence.worktree) return undefined
    return say(call, 'git.discard', 'MEDIUM', 'git restore throws away changes of a file')
  },
  branch: (call, args) => {
    const force = has(args, /^(-[a-zA-Z]*[DMCf][a-zA-Z]*|--fo?|--forc?e?)$/)
    if (force) return say(call, 'git.destroy', 'HIGH', `${force.text} deletes or overwrites a branch`, force)
    const edits = has(
      args,
      /^(-d|--delete|-m|--move|-c|--copy|-u|--set-upstream-to.*|--unset-upstream|--edit-description|--del.*)$/,
    )
    return edits ? say(call, 'git.branch-edit', 'MEDIUM', `${edits.text} changes branches`, edits) : undefined
  },
  stash: (call, args) => {
    const [verb] = findOperands(args)
    return verb && /^(clear|drop)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git stash ${verb.text} throws away work`, verb)
      : undefined
  },
  tag: (call, args) => {
    const edits = has(args, /^(-[a-zA-Z]*[df][a-zA-Z]*|--delete|--force)$/)
    return edits ? say(call, 'git.destroy', 'HIGH', `${edits.text} deletes or overwrites tags`, edits) : undefined
  },
  reflog: (call, args) => {
    const [verb] = findOperands(args)
    return verb && /^(expire|delete|drop)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git reflog ${verb.text} removes the way back`, verb)
      : undefined
  },
  gc: (call, args) =>
    has(args, /^--(prune|aggressive|force)/) ? undefined : say(call, 'git.gc', 'MEDIUM', 'git gc tidies up', args[0]),
  remote: (call, args) => {
    const [verb] = findOperands(args)
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

/** Adds a reason for a git command, and returns that nothing more is to be added. */
export function say(call: ProgramCall, code: string, risk: 'MEDIUM' | 'HIGH', text: string, at?: Arg): 'said' {
  call.say(code, risk, text, at)
  return 'said'
}

/** Words that are files or folders in most projects, and not names of branches. */
const FILES =
  /\.[a-z0-9]{1,5}$|^(src|tests?|lib|app|docs?|packages|scripts|public|config|bin|cmd|pkg|internal|Makefile|Dockerfile|README|LICENSE)(\/|$)/i

/** Settings that name a program, or a folder with programs. */
export const RUNS_PROGRAM =
  /^(alias\.|core\.(pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass|attributesfile|worktree)|credential\.|diff\.|difftool\.|merge\.|mergetool\.|filter\.|gpg\.|pager\.|sequence\.editor|uploadpack\.|receive\.|include|url\.|protocol\.|http\.(proxy|sslverify|cookiefile|extraheader)|browser\.|man\.|web\.|interactive\.difffilter|sendemail\.|trailer\.|remote\.[^.]*\.(uploadpack|receivepack|vcs|proxy)|submodule\.[^.]*\.(update|url)|core\.gitproxy|init\.templatedir|safe\.directory|extensions\.|ssh\.|instaweb\.|guitool\.|log\.showsignature|user\.signingkey|tar\.|fetch\.|push\.|branch\.)/i

/** Whether a `-c` only sets how git prints, or who commits. */
export function isHarmlessSetting(setting: string): boolean {
  const key = setting.split('=')[0] ?? ''
  return (
    /^(core\.pager|pager\.\w+)=(cat|)$/i.test(setting) ||
    /^(color|advice|core\.(quotepath|autocrlf|safecrlf|abbrev|precomposeunicode|longpaths)|log\.(date|decorate)|diff\.(renames|algorithm|context|noprefix|mnemonicprefix)|merge\.conflictstyle|user\.(name|email)|commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|pull\.rebase|rebase\.autostash|gc\.auto)/i.test(
      key,
    )
  )
}

function judgeSetting(call: ProgramCall, at: Arg, setting: string): undefined {
  const key = setting.split('=')[0] ?? ''
  if (/^(user|author|committer)\.(name|email)$/i.test(key))
    return call.say('git.author', 'MEDIUM', `${key} makes the commit somebody else's`, at)
  if (isHarmlessSetting(setting)) return
  if (RUNS_PROGRAM.test(key) || !at.known)
    call.say('git.setting', 'HIGH', `${key} decides which programs git runs or where it goes`, at)
  else call.say('git.setting-other', 'MEDIUM', `${key} is set for this command`, at)
}

/** Flags of git itself that take the next word. */
export const GLOBAL_VALUED = [
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--super-prefix',
  '--config-env',
  '--attr-source',
]

export function judgeGlobals(call: ProgramCall, head: readonly Arg[]): undefined {
  for (const [index, arg] of head.entries()) {
    const before = head[index - 1]?.value
    if (arg.value.startsWith('-c') || before === '-c' || /^--config-env/.test(arg.value)) {
      const setting = before === '-c' ? arg.value : arg.value.replace(/^(-c|--config-env=?)/, '')
      if (setting !== '') judgeSetting(call, arg, setting)
    }
    if (before === '-C') judgeElsewhere(call, arg)
    if (/^--(git-dir|work-tree|exec-path|super-prefix|namespace)(=|$)/.test(arg.value)) {
      const runs = arg.value.startsWith('--exec-path=')
      const path = arg.value.includes('=')
        ? { ...arg, value: arg.value.slice(arg.value.indexOf('=') + 1) }
        : head[index + 1]
      if (path && /^--(work-tree)/.test(arg.value)) call.path(path, 'write')
      call.say('git.elsewhere', runs ? 'HIGH' : 'MEDIUM', `${arg.text} makes git work elsewhere`, arg)
    }
  }
}

/** `-C sub` inside of the project is everyday; outside of it, another repository's settings apply. */
function judgeElsewhere(call: ProgramCall, arg: Arg): undefined {
  const inside =
    arg.known &&
    !arg.value.startsWith('~') &&
    !arg.value.split('/').includes('..') &&
    (!arg.value.startsWith('/') || `${arg.value}/`.startsWith(`${call.fence.boundary}/`))
  if (!inside)
    call.say('git.elsewhere', 'MEDIUM', `${arg.text} is another directory, whose settings can run programs`, arg)
}
