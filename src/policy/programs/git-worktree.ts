import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, atDoubleDash, isFlag } from '../shell/args.ts'
import { GLOBAL_VALUED, isHarmlessSetting } from './git-commands.ts'

interface GitCall {
  /** The words before the verb. */
  head: readonly Arg[]
  verb: Arg | undefined
  args: readonly Arg[]
}

/** Reports what a session in a worktree of its own must not do with git. Adds nothing for a session in the project itself. */
export function judgeWorktreeGit(call: ProgramCall, { head, verb, args }: GitCall): undefined {
  const { worktree } = call.fence
  if (worktree === undefined) return
  const refuse = (text: string, at?: Arg) => call.say('boundary.git', 'HIGH', text, at)
  for (const [index, arg] of head.entries()) {
    const why = explainGlobalFlag(call, arg, head[index - 1])
    if (why !== undefined) return refuse(`${arg.text} makes git work elsewhere or otherwise: ${why}`, arg)
  }
  if (verb === undefined) return
  if (!verb.known || verb.glob)
    return refuse(`which git command it is, is known only when it runs: ${GIT_ALTERNATIVES.commit}`, verb)
  const row = Object.hasOwn(WORKTREE_GIT, verb.value) ? WORKTREE_GIT[verb.value] : undefined
  if (args.some(arg => SEQUENCE_FLAGS.test(arg.value)) && /^(rebase|merge|cherry-pick|revert|am)$/.test(verb.value))
    return refuse(`git ${verb.text} is driven by pcc: ${GIT_ALTERNATIVES.sequence}`, verb)
  if (row === undefined)
    return refuse(`git ${verb.text} is not for a task's worktree: ${GIT_ALTERNATIVES.commit}`, verb)
  if (row.only === undefined ? row.way !== undefined : !isKnown(args) || !row.only(readWords(args)))
    return refuse(`git ${verb.text} is left to pcc in a task's worktree: ${row.way ?? GIT_ALTERNATIVES.commit}`, verb)
  if (!isHere(call)) refuse(`git works in another directory there: ${GIT_ALTERNATIVES.here}`, verb)
}

/** Why a flag of git itself is refused; undefined if it is harmless. */
function explainGlobalFlag(call: ProgramCall, arg: Arg, before: Arg | undefined): string | undefined {
  if (before && GLOBAL_VALUED.includes(before.value)) {
    if (before.value === '-C') return arg.known && isWithin(call, arg.value) ? undefined : GIT_ALTERNATIVES.here
    return before.value === '-c' && arg.known && isHarmlessSetting(arg.value) ? undefined : GIT_ALTERNATIVES.shared
  }
  if (!arg.known) return GIT_ALTERNATIVES.here
  return /^-[Cc]$/.test(arg.value) || WORKTREE_GLOBALS.test(arg.value) ? undefined : GIT_ALTERNATIVES.here
}

/** Whether git works in this worktree: an earlier `cd` counts like `-C`. */
function isHere({ scope, fence }: ProgramCall): boolean {
  const { worktree } = fence
  if (worktree === undefined) return true
  if (scope.cwd === undefined || !isInside(scope.cwd, worktree.top)) return false
  return [...scope.folders].every(folder => isInside(folder, worktree.top))
}

function isWithin({ scope, fence }: ProgramCall, path: string): boolean {
  const { worktree } = fence
  if (worktree === undefined || scope.cwd === undefined) return false
  const place = locatePath(path, scope.cwd, fence)
  return place.where !== 'strange' && isInside(place.path, worktree.top)
}

/** If only some forms of a verb are allowed, an unknown word may turn the command into another form. */
function isKnown(args: readonly Arg[]): boolean {
  return args.every(arg => arg.known)
}

function readWords(args: readonly Arg[]): GitWords {
  const { before, after } = atDoubleDash(args)
  return {
    flags: before.filter(isFlag).map(arg => arg.value),
    operands: before.filter(arg => !isFlag(arg)).map(arg => arg.value),
    paths: after.map(arg => arg.value),
  }
}

/** The known words of a git command after its verb. */
export interface GitWords {
  flags: readonly string[]
  operands: readonly string[]
  /** The words after `--`. */
  paths: readonly string[]
}

/** What a session in a worktree may do with a verb: everything, the forms that `only` accepts, or nothing. */
export interface WorktreeVerb {
  only?: (words: GitWords) => boolean
  /** The text of a refusal; a verb with neither field is allowed in every form. */
  way?: string
}

export const GIT_ALTERNATIVES = {
  commit: 'commit here; pcc merges it',
  sync: 'work on what is here; pcc brings in what others have merged',
  stay: 'stay on this branch; pcc made it for the task',
  shared: 'the repository is shared with others; leave its settings, refs and remotes as they are',
  sequence: 'edit the files and git add them; pcc continues',
  restore: 'use git restore for files',
  here: 'work in this worktree only',
} as const

/** Verbs that only read. */
const READS =
  'diff status log show rev-parse ls-files blame annotate cat-file ls-tree grep describe shortlog rev-list name-rev merge-base diff-tree diff-index diff-files show-ref for-each-ref cherry range-diff whatchanged check-ignore check-attr check-mailmap check-ref-format count-objects verify-commit verify-tag var version help show-branch stripspace fsck last-modified'

/** Verbs that work on the task's own branch. */
const WORKS = 'add stage commit restore mv rm apply'

const hasOnlyFlags = (shape: RegExp) => (words: GitWords) => words.flags.every(flag => shape.test(flag))
const firstOperand = ({ operands }: GitWords) => operands[0]

/**
 * git in a task's worktree: one table for what an agent may do there. A verb that is not in it is refused, because the policy cannot
 * judge an alias, a helper from the PATH or a command of a newer git.
 */
export const WORKTREE_GIT: Readonly<Record<string, WorktreeVerb>> = {
  ...rows(READS, {}),
  ...rows(WORKS, {}),
  stash: {
    only: words => /^(push|save|list|show|pop|apply|create)$/.test(firstOperand(words) ?? 'push'),
    way: 'its list is shared with others: use push, pop, apply, list or show',
  },
  reset: {
    only: ({ flags, operands }) =>
      flags.every(flag => /^(-q|--quiet|--mixed|-p|--patch|-N|--intent-to-add)$/.test(flag)) &&
      (operands.length === 0 || /^(HEAD|@)$/.test(operands[0] ?? '')),
    way: 'the branch stays where it is: git reset takes files out of the index only, and git restore brings them back',
  },
  checkout: {
    only: ({ flags, paths }) =>
      paths.length > 0 &&
      flags.every(flag => /^(-q|--quiet|--ours|--theirs|-p|--patch|-m|--merge|--conflict=\w+)$/.test(flag)),
    way: `${GIT_ALTERNATIVES.stay}; ${GIT_ALTERNATIVES.restore}`,
  },
  switch: { way: GIT_ALTERNATIVES.stay },
  branch: {
    only: words =>
      hasOnlyFlags(
        /^(-[arvil]+|--all|--remotes|--verbose|--list|--show-current|--ignore-case|--(no-)?(contains|merged)(=.*)?|--(no-)?contains|--points-at(=.*)?|--format=.*|--sort=.*|--(no-)?(color|column)(=.*)?|--no-abbrev|--abbrev=\d+)$/,
      )(words) &&
      (words.operands.length === 0 ||
        words.flags.some(flag => /^(-[arvi]*l[arvi]*|--list|--(no-)?(contains|merged)|--points-at)$/.test(flag))),
    way: GIT_ALTERNATIVES.stay,
  },
  tag: {
    only: words =>
      hasOnlyFlags(
        /^(-l|--list|-n\d*|--(no-)?(contains|merged)(=.*)?|--points-at(=.*)?|--format=.*|--sort=.*|-i|--ignore-case|--column.*)$/,
      )(words) &&
      (words.operands.length === 0 ||
        words.flags.some(flag => /^(-l|--list|--(no-)?(contains|merged)|--points-at)$/.test(flag))),
    way: GIT_ALTERNATIVES.shared,
  },
  reflog: {
    only: words => /^(show|list|exists|HEAD.*|@.*)$/.test(firstOperand(words) ?? 'show'),
    way: GIT_ALTERNATIVES.shared,
  },
  remote: {
    only: words =>
      /^(get-url)$/.test(firstOperand(words) ?? 'get-url') && hasOnlyFlags(/^(-v|--verbose|--all|--push)$/)(words),
    way: GIT_ALTERNATIVES.shared,
  },
  config: {
    only: ({ flags, operands }) =>
      flags.every(flag =>
        /^(--get|--get-all|--get-regexp|--list|-l|-z|--null|--show-origin|--show-scope|--name-only|--local|--global|--system|--worktree|--type=\w+|--bool|--int|--path|--includes|--no-includes|--default=.*)$/.test(
          flag,
        ),
      ) &&
      (/^(get|list)$/.test(operands[0] ?? '') ||
        flags.some(flag => /^(--get|--get-all|--get-regexp|--list|-l)$/.test(flag)) ||
        operands.length === 1) &&
      !/^(set|unset|edit|rename-section|remove-section)$/.test(operands[0] ?? ''),
    way: GIT_ALTERNATIVES.shared,
  },
  worktree: { only: words => firstOperand(words) === 'list', way: GIT_ALTERNATIVES.here },
  submodule: {
    only: words => /^(status|summary)$/.test(firstOperand(words) ?? 'status'),
    way: GIT_ALTERNATIVES.shared,
  },
  'symbolic-ref': {
    only: ({ flags, operands }) =>
      operands.length === 1 && flags.every(flag => /^(-q|--quiet|--short|--no-recurse)$/.test(flag)),
    way: GIT_ALTERNATIVES.stay,
  },
  clean: {
    only: ({ flags }) =>
      flags.some(flag => /^(-[a-zA-Z]*n[a-zA-Z]*|--dry-run)$/.test(flag)) &&
      !flags.some(flag => /^-[a-zA-Z]*f|^--force/.test(flag)),
    way: 'leave what is in no commit where it is',
  },
  lfs: {
    only: words =>
      /^(ls-files|status|env|version|track)$/.test(firstOperand(words) ?? '') && words.operands.length === 1,
    way: GIT_ALTERNATIVES.shared,
  },
  'format-patch': { only: ({ flags }) => flags.includes('--stdout'), way: GIT_ALTERNATIVES.commit },
  'sparse-checkout': { only: words => firstOperand(words) === 'list', way: GIT_ALTERNATIVES.shared },
  ...rows('push send-pack request-pull send-email', { way: GIT_ALTERNATIVES.commit }),
  ...rows('pull fetch fetch-pack ls-remote clone bundle', { way: GIT_ALTERNATIVES.sync }),
  ...rows('merge rebase cherry-pick revert am', { way: GIT_ALTERNATIVES.commit }),
  ...rows('update-ref replace notes gc prune repack pack-refs maintenance filter-branch filter-repo init', {
    way: GIT_ALTERNATIVES.shared,
  }),
}

/** Flags that continue or end an operation that stopped in the middle: pcc drives a rebase that stopped at a conflict. */
export const SEQUENCE_FLAGS = /^--(continue|abort|skip|quit|edit-todo|show-current-patch)$/

/** Flags of git itself, before the verb, that change neither where it works nor what it runs. */
export const WORKTREE_GLOBALS =
  /^(--no-pager|-P|--paginate|-p|--no-optional-locks|--literal-pathspecs|--glob-pathspecs|--noglob-pathspecs|--icase-pathspecs|--no-replace-objects|--no-advice|--no-lazy-fetch|--version|-v|--help|-h|--exec-path|--html-path|--man-path|--info-path)$/

/** Programs other than git that do what is refused here. */
export const WORKTREE_PROGRAMS = /^(git-.+|lazygit|gitui|jj|sl|gitk|git\.exe)$/

function rows(verbs: string, row: WorktreeVerb): Record<string, WorktreeVerb> {
  return Object.fromEntries(verbs.split(' ').map(verb => [verb, row]))
}
