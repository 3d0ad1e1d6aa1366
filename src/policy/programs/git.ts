import { basename, dirname, join, resolve } from 'node:path'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { readScript } from '../classify/script-file.ts'
import type { Fence } from '../paths/fence.ts'
import { type Arg, isFlag } from '../shell/args.ts'
import { GIT_COMMANDS, GLOBAL_VALUED, judgeGlobals } from './git-commands.ts'
import { OTHER_GIT_COMMANDS } from './git-other-commands.ts'
import { judgeWorktreeGit } from './git-worktree.ts'

/** Verbs that always throw work away or rewrite what others have. */
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

/** git: never LOW, because settings of a repository can run programs. Each verb has a code of its own. */
export const GIT: ProgramRules = {
  git: judgeGit,
  gitk: call => call.say('git.exec', 'MEDIUM', 'gitk opens a window'),
  hub: judgeGit,
  tig: call => call.say('git.log', 'MEDIUM', 'tig shows the history'),
}

function judgeGit(call: ProgramCall): undefined {
  const index = findVerbIndex(call.args)
  const head = call.args.slice(0, index)
  const verb = call.args[index]
  const args = call.args.slice(index + 1)
  judgeGlobals(call, head)
  judgeWorktreeGit(call, { head, verb, args })
  if (verb === undefined)
    return head.some(arg => /^(--version|--help|--exec-path|--html-path|-v|-h)$/.test(arg.value))
      ? undefined
      : call.say('git.status', 'MEDIUM', 'git')
  if (!verb.known) return call.say('git.unknown', 'HIGH', 'which git command it is, is known only when it runs', verb)
  // Outside of the repository, `git diff` and `git grep` show any file.
  const anyFile = args.some(arg => /^(--no-index$|\/)/.test(arg.value))
  for (const arg of args)
    if (!arg.known && !TEXT_VERBS.has(verb.value))
      call.say(
        anyFile ? 'read.indirect' : arg.listed ? 'arg.listed' : 'arg.unknown',
        'MEDIUM',
        `${arg.text} is known only when it runs`,
        arg,
      )
  judgeCommon(call, verb, args)
  judgeHooks(call, { head, verb, args })
  const special = Object.hasOwn(COMMANDS, verb.value) ? COMMANDS[verb.value] : undefined
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

const COMMANDS = { ...GIT_COMMANDS, ...OTHER_GIT_COMMANDS }

const TEXT_VERBS = new Set(['commit', 'tag', 'notes', 'log', 'grep', 'stash'])

/** All other verbs of git. Which of them are routine is not decided here. */
const KNOWN = new Set(
  'add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout cherry cherry-pick clean clone column commit config count-objects describe diagnose diff diff-files diff-index diff-tree diff-pairs fetch fmt-merge-msg for-each-ref format-patch fsck get-tar-commit-id grep help init interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit merge merge-base merge-file merge-tree mv name-rev notes pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree switch tag unpack-file var verify-commit verify-pack verify-tag version whatchanged worktree backfill refs repo last-modified'.split(
    ' ',
  ),
)

function findVerbIndex(args: readonly Arg[]): number {
  let index = 0
  for (; index < args.length; index++) {
    const { value } = args[index] ?? { value: '' }
    if (!value.startsWith('-')) return index
    if (GLOBAL_VALUED.includes(value)) index++
  }
  return index
}

/** Flags that run a program or write a file, in any git command. */
function judgeCommon(call: ProgramCall, verb: Arg, args: readonly Arg[]): undefined {
  const runs = args.find(
    arg =>
      /^--(upload-pack|receive-pack|exec|ext-diff|open-files-in-pager|template|extcmd|to-command|sendmail-cmd|smtp-server|to-cmd|cc-cmd|gpg-program)(=|$)/.test(
        arg.value,
      ) || /^--(up|upl|uplo|uploa|upload|rece|ext|open|ope|op)[a-z-]*(=|$)|^--rec(=|$)/.test(arg.value),
  )
  if (runs) call.say('git.exec', 'HIGH', `${runs.text} makes git run a program`, runs)
  const writes = args.find(arg => /^--output(=|$|-directory)/.test(arg.value) || /^--outp?u?t?(=|$)/.test(arg.value))
  if (writes) call.say('write.flag', 'HIGH', `${writes.text} makes git write a file`, writes)
  const remote = args.find(
    arg => /^(ext|fd|file|testgit|remote-[a-z]+)::|^-oProxy|^ext::/.test(arg.value) || /^[a-z-]+::/.test(arg.value),
  )
  if (remote) call.say('git.exec', 'HIGH', `${remote.text} makes git run a program`, remote)
  const side = args.find(
    (arg, at) =>
      TAKES_SIDE.test(arg.value) ||
      (/^(-X|-s|--strategy(-option)?)$/.test(args[at - 1]?.value ?? '') && /^(ours|theirs)$/.test(arg.value)),
  )
  if (side && MERGES.test(verb.value))
    call.say('git.discard', 'MEDIUM', `${side.text} throws away one side of every conflict`, side)
  const author = verb.value === 'commit' ? args.find(arg => FORGES.test(arg.value)) : undefined
  if (author) call.say('git.author', 'MEDIUM', `${author.text} speaks for somebody else`, author)
  // To take a file with secrets out of the index shows nothing of it.
  const unstages =
    (verb.value === 'rm' && args.some(arg => arg.value === '--cached')) || /^check-(ignore|attr)$/.test(verb.value)
  for (const [index, arg] of args.entries())
    if (
      !unstages &&
      !isFlag(arg) &&
      !/^(-[a-zA-Z]*m|--message|--grep|-S|-G|--author|-L|--format|--pretty)$/.test(args[index - 1]?.value ?? '')
    )
      call.secret({ ...arg, value: arg.value.replace(/^.*?:(\d:)?/, '') })
  for (const arg of args) if (/^-L/.test(arg.value)) call.secret({ ...arg, value: arg.value.replace(/^.*:/, '') })
}

const MERGES = /^(pull|merge|rebase|cherry-pick|revert|am|subtree|merge-file)$/
const TAKES_SIDE = /^(-X|-s|--strategy(-option)?=)(ours|theirs)$|^--(ours|theirs)$/
/** Another author or date of a commit, and the approval of a person in it. */
const FORGES =
  /^--(au|date?(=|$))|^--trailer=(reviewed|approved|acked|tested|signed-off)|^(reviewed|approved|acked|tested)-by\s*[:=]/i

const ON_COMMIT = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit']

/** The hooks that a command of git runs. */
const HOOKS: Record<string, readonly string[]> = {
  commit: ON_COMMIT,
  merge: ['pre-merge-commit', 'prepare-commit-msg', 'commit-msg', 'post-merge'],
  pull: ['pre-merge-commit', 'post-merge', 'pre-rebase', 'post-checkout'],
  'cherry-pick': ON_COMMIT,
  revert: ON_COMMIT,
  checkout: ['post-checkout'],
  switch: ['post-checkout'],
  rebase: ['pre-rebase', 'post-checkout', 'post-rewrite'],
  am: ['applypatch-msg', 'pre-applypatch', 'post-applypatch'],
  push: ['pre-push'],
}

/** Judges the hooks of the repository that a command of git runs, as if their lines had been typed. */
function judgeHooks(
  call: ProgramCall,
  { head, verb, args }: { head: readonly Arg[]; verb: Arg; args: readonly Arg[] },
): undefined {
  const hooks = Object.hasOwn(HOOKS, verb.value) ? HOOKS[verb.value] : undefined
  // Another repository (`-C`, `--git-dir`) is asked about or refused by its own rule.
  if (hooks === undefined || head.length > 0 || call.scope.cwd === undefined) return
  const repository = findRepository(call.scope.cwd, call.fence)
  if (repository === undefined) return
  const skips = args.some(
    arg => arg.value === '--no-verify' || (verb.value === 'commit' && /^-[a-z]*n/.test(arg.value)),
  )
  for (const hook of hooks) {
    if (skips && /^(pre-|commit-msg)/.test(hook)) continue
    const path = join(repository.hooks, hook)
    const text = readScript(path, call.fence)
    const name = `the hook ${basename(dirname(path))}/${hook}`
    if (text !== undefined)
      call.lines({ id: path, name, cwd: repository.top, lines: [{ text, line: 1 }], is: 'hook' }, verb)
  }
}

interface Repository {
  /** The top of its working tree, in which hooks run. */
  top: string
  /** The folder with its hooks. */
  hooks: string
}

function findRepository(cwd: string, fence: Fence): Repository | undefined {
  if (fence.worktree) return readRepository(fence.worktree.top, fence.worktree.repository, fence)
  for (let top = cwd; ; top = dirname(top)) {
    const found = readRepository(top, join(top, '.git'), fence)
    if (found || top === dirname(top)) return found
  }
}

/** husky keeps scripts in `.husky/_` that only run those of the same name in `.husky`. */
function readRepository(top: string, folder: string, { look }: Fence): Repository | undefined {
  const found = look?.(join(folder, 'config'))
  if (found?.is !== 'file') return undefined
  const [, written] = /^[ \t]*hooksPath[ \t]*=[ \t]*"?([^"\r\n]*?)"?[ \t]*$/im.exec(found.bytes.toString('utf8')) ?? []
  const hooks = written === undefined ? join(folder, 'hooks') : resolve(top, written)
  return { top, hooks: /\/\.husky\/_$/.test(hooks) ? dirname(hooks) : hooks }
}
