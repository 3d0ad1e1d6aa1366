import type { Call, Rules } from '../call.ts'
import { type Arg, isFlag } from '../words/arg.ts'
import { findFlag, operandsOf } from '../words/flags.ts'

/** Flags of git itself that take the next word. */
const GLOBAL_VALUED = [
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

/** Settings that name a program, or a place where one lies. */
const RUNS_PROGRAM =
  /^(alias\.|core\.(pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass|attributesfile|worktree)|credential\.|diff\.|difftool\.|merge\.|mergetool\.|filter\.|gpg\.|pager\.|sequence\.editor|uploadpack\.|receive\.|include|url\.|protocol\.|http\.(proxy|sslverify|cookiefile|extraheader)|browser\.|man\.|web\.|interactive\.difffilter|sendemail\.|trailer\.|remote\.[^.]*\.(uploadpack|receivepack|vcs|proxy)|submodule\.[^.]*\.(update|url)|core\.gitproxy|init\.templatedir|safe\.directory|extensions\.|ssh\.|instaweb\.|guitool\.|log\.showsignature|user\.signingkey|tar\.|fetch\.|push\.|branch\.)/i

/** Verbs that throw work away or rewrite what others have, in any form. */
const DESTROYS = new Set([
  'prune',
  'gc',
  'reflog-expire',
  'filter-branch',
  'filter-repo',
  'update-ref',
  'symbolic-ref',
  'replace',
  'fast-import',
  'prune-packed',
  'pack-refs',
  'read-tree',
  'checkout-index',
  'update-index',
  'write-tree',
  'commit-tree',
  'hash-object',
  'mktag',
  'mktree',
  'unpack-objects',
  'index-pack',
  'repack',
  'nuke',
  'obliterate',
  'delete-branch',
  'undo',
])
/** Verbs that start servers, browsers, mailers or other programs. */
const RUNS = new Set([
  'instaweb',
  'daemon',
  'send-email',
  'imap-send',
  'difftool',
  'mergetool',
  'web--browse',
  'cvsserver',
  'http-backend',
  'shell',
  'upload-pack',
  'receive-pack',
  'upload-archive',
  'credential',
  'credential-store',
  'credential-cache',
  'hook',
  'for-each-repo',
  'maintenance',
  'remote-ext',
  'remote-fd',
  'p4',
  'svn',
  'quiltimport',
  'request-pull',
  'gui',
  'citool',
  'gitk',
])

/** git: never LOW, because what a repository is set to can run programs. Each verb is a code of its own. */
export const GIT: Rules = {
  git: judgeGit,
  gitk: call => call.say('git.exec', 'MEDIUM', 'gitk opens a window'),
  hub: judgeGit,
  tig: call => call.say('git.log', 'MEDIUM', 'tig shows the history'),
}

function judgeGit(call: Call): undefined {
  const place = verbPlace(call.args)
  const head = call.args.slice(0, place)
  const verb = call.args[place]
  const args = call.args.slice(place + 1)
  judgeGlobals(call, head)
  if (verb === undefined)
    return head.some(arg => /^(--version|--help|--exec-path|--html-path|-v|-h)$/.test(arg.value))
      ? undefined
      : call.say('git.status', 'MEDIUM', 'git')
  if (!verb.known) return call.say('git.unknown', 'HIGH', 'which git command it is, is known only when it runs', verb)
  for (const arg of args)
    if (!arg.known && !TEXT_VERBS.has(verb.value))
      call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
  judgeCommon(call, args)
  const special = Object.hasOwn(SPECIAL, verb.value) ? SPECIAL[verb.value] : undefined
  if (special?.(call, args) === 'said') return
  if (DESTROYS.has(verb.value))
    return call.say('git.destroy', 'HIGH', `git ${verb.text} throws away or rewrites work`, verb)
  if (RUNS.has(verb.value)) return call.say('git.exec', 'HIGH', `git ${verb.text} runs other programs`, verb)
  if (!/^[a-z][a-z-]*$/.test(verb.value)) return call.say('git.unknown', 'HIGH', `${verb.text} is no git command`, verb)
  if (!KNOWN.has(verb.value)) {
    if (args.some(arg => /^(-f|--force|--hard|--delete|-D|--all|--yes|-y)$/.test(arg.value)))
      call.say('git.destroy', 'HIGH', 'an unknown git command is forced', verb)
    return call.say(
      'git.unknown',
      'MEDIUM',
      `git ${verb.text} is not a command the policy knows; it may be an alias`,
      verb,
    )
  }
  call.say(`git.${verb.value}`, 'MEDIUM', `git ${verb.value}`, verb)
}

const TEXT_VERBS = new Set(['commit', 'tag', 'notes', 'log', 'grep', 'stash'])

/** Everything else that git itself knows. Which of it is everyday is not decided here. */
const KNOWN = new Set(
  'add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout cherry cherry-pick clean clone column commit config count-objects describe diagnose diff diff-files diff-index diff-tree diff-pairs fetch fmt-merge-msg for-each-ref format-patch fsck get-tar-commit-id grep help init interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit merge merge-base merge-file merge-tree mv name-rev notes pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree switch tag unpack-file var verify-commit verify-pack verify-tag version whatchanged worktree backfill refs repo last-modified'.split(
    ' ',
  ),
)

function verbPlace(args: readonly Arg[]): number {
  let place = 0
  for (; place < args.length; place++) {
    const { value } = args[place] ?? { value: '' }
    if (!value.startsWith('-')) return place
    if (GLOBAL_VALUED.includes(value)) place++
  }
  return place
}

function judgeGlobals(call: Call, head: readonly Arg[]): undefined {
  for (const [place, arg] of head.entries()) {
    const before = head[place - 1]?.value
    if (arg.value.startsWith('-c') || before === '-c' || /^--config-env/.test(arg.value)) {
      const setting = before === '-c' ? arg.value : arg.value.replace(/^(-c|--config-env=?)/, '')
      if (setting !== '') judgeSetting(call, arg, setting)
    }
    if (before === '-C') judgeElsewhere(call, arg)
    if (/^--(git-dir|work-tree|exec-path|super-prefix|namespace)(=|$)/.test(arg.value)) {
      const runs = arg.value.startsWith('--exec-path=')
      const path = arg.value.includes('=')
        ? { ...arg, value: arg.value.slice(arg.value.indexOf('=') + 1) }
        : head[place + 1]
      if (path && /^--(work-tree)/.test(arg.value)) call.path(path, 'write')
      call.say('git.elsewhere', runs ? 'HIGH' : 'MEDIUM', `${arg.text} makes git work elsewhere`, arg)
    }
  }
}

/** `-C sub` inside the project is everyday; outside it, another repository's settings count. */
function judgeElsewhere(call: Call, arg: Arg): undefined {
  const inside =
    arg.known &&
    !arg.value.startsWith('~') &&
    !arg.value.split('/').includes('..') &&
    (!arg.value.startsWith('/') || `${arg.value}/`.startsWith(`${call.fence.boundary}/`))
  if (!inside) call.say('git.elsewhere', 'MEDIUM', `${arg.text} is another place, whose settings can run programs`, arg)
}

function judgeSetting(call: Call, at: Arg, setting: string): undefined {
  const key = setting.split('=')[0] ?? ''
  if (
    /^(core\.pager|pager\.\w+)=(cat|)$/i.test(setting) ||
    /^(color|advice|core\.(quotepath|autocrlf|safecrlf|abbrev|precomposeunicode|longpaths)|log\.(date|decorate)|diff\.(renames|algorithm|context|noprefix|mnemonicprefix)|merge\.conflictstyle|user\.(name|email)|commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|pull\.rebase|rebase\.autostash|gc\.auto)/i.test(
      key,
    )
  )
    return
  if (RUNS_PROGRAM.test(key) || !at.known)
    call.say('git.setting', 'HIGH', `${key} decides which programs git runs or where it goes`, at)
  else call.say('git.setting-other', 'MEDIUM', `${key} is set for this command`, at)
}

/** Flags that run a program or write a file, in whichever git command. */
function judgeCommon(call: Call, args: readonly Arg[]): undefined {
  const runs = args.find(
    arg =>
      /^--(upload-pack|receive-pack|exec|ext-diff|open-files-in-pager|template|extcmd|to-command|sendmail-cmd|smtp-server|to-cmd|cc-cmd|gpg-program)(=|$)/.test(
        arg.value,
      ) || /^--(upload-p|receive-p|ext-d|open-f)[a-z-]*(=|$)/.test(arg.value),
  )
  if (runs) call.say('git.exec', 'HIGH', `${runs.text} makes git run a program`, runs)
  const writes = args.find(arg => /^--output(=|$|-directory)/.test(arg.value) || /^--outp?u?t?(=|$)/.test(arg.value))
  if (writes) call.say('write.flag', 'HIGH', `${writes.text} makes git write a file`, writes)
  const remote = args.find(
    arg => /^(ext|fd|file|testgit|remote-[a-z]+)::|^-oProxy|^ext::/.test(arg.value) || /^[a-z-]+::/.test(arg.value),
  )
  if (remote) call.say('git.exec', 'HIGH', `${remote.text} makes git run a program`, remote)
  for (const [place, arg] of args.entries())
    if (!isFlag(arg) && !/^(-[a-zA-Z]*m|--message|--grep|-S|-G|--author|-L|--format|--pretty)$/.test(args[place - 1]?.value ?? ''))
      call.secret({ ...arg, value: arg.value.slice(arg.value.indexOf(':') + 1) })
}

type Special = (call: Call, args: readonly Arg[]) => 'said' | undefined

const has = (args: readonly Arg[], shape: RegExp): Arg | undefined => args.find(arg => shape.test(arg.value))

/** Commands whose flags change what they are. `said`: nothing is to be added. */
const SPECIAL: Record<string, Special> = {
  push: (call, args) => {
    const force = args.find(
      arg =>
        /^(--force.*|--forc?e?|--mirror|--delete|--del.*|--prune|--pru.*|-[a-zA-Z]*[fd][a-zA-Z]*)$/.test(arg.value) &&
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
