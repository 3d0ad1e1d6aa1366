import { isInside, placeOf } from '../../../paths/place.ts'
import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { atDoubleDash } from '../../words/flags.ts'
import { GLOBAL_VALUED, isHarmlessSetting } from './settings.ts'
import { SEQUENCE_FLAGS, WAYS, WORKTREE_GIT, WORKTREE_GLOBALS, type Words } from './worktree-table.ts'

interface Parts {
  /** What stands before the verb. */
  head: readonly Arg[]
  verb: Arg | undefined
  args: readonly Arg[]
}

/** What a session in a worktree of its own may not do with git. Says nothing for one that works in the project itself. */
export function judgeWorktreeGit(call: Call, { head, verb, args }: Parts): undefined {
  const { worktree } = call.fence
  if (worktree === undefined) return
  const refuse = (text: string, at?: Arg) => call.say('boundary.git', 'HIGH', text, at)
  for (const [place, arg] of head.entries()) {
    const why = globalRefused(call, arg, head[place - 1])
    if (why !== undefined) return refuse(`${arg.text} makes git work elsewhere or otherwise: ${why}`, arg)
  }
  if (verb === undefined) return
  if (!verb.known || verb.glob) return refuse(`which git command it is, is known only when it runs: ${WAYS.land}`, verb)
  const row = Object.hasOwn(WORKTREE_GIT, verb.value) ? WORKTREE_GIT[verb.value] : undefined
  if (args.some(arg => SEQUENCE_FLAGS.test(arg.value)) && /^(rebase|merge|cherry-pick|revert|am)$/.test(verb.value))
    return refuse(`git ${verb.text} is driven by pcc: ${WAYS.sequence}`, verb)
  if (row === undefined) return refuse(`git ${verb.text} is not for a task's worktree: ${WAYS.land}`, verb)
  if (row.only === undefined ? row.way !== undefined : !isKnown(args) || !row.only(wordsOf(args)))
    return refuse(`git ${verb.text} is left to pcc in a task's worktree: ${row.way ?? WAYS.land}`, verb)
  if (!isHere(call)) refuse(`git works in another place there: ${WAYS.here}`, verb)
}

/** Why a flag of git itself is refused; undefined where it is harmless. */
function globalRefused(call: Call, arg: Arg, before: Arg | undefined): string | undefined {
  if (before && GLOBAL_VALUED.includes(before.value)) {
    if (before.value === '-C') return arg.known && isWithin(call, arg.value) ? undefined : WAYS.here
    return before.value === '-c' && arg.known && isHarmlessSetting(arg.value) ? undefined : WAYS.shared
  }
  if (!arg.known) return WAYS.here
  return /^-[Cc]$/.test(arg.value) || WORKTREE_GLOBALS.test(arg.value) ? undefined : WAYS.here
}

/** A folder that is changed to before counts as much as `-C`. */
function isHere({ scope, fence }: Call): boolean {
  const { worktree } = fence
  if (worktree === undefined) return true
  if (scope.cwd === undefined || !isInside(scope.cwd, worktree.top)) return false
  return [...scope.folders].every(folder => isInside(folder, worktree.top))
}

function isWithin({ scope, fence }: Call, path: string): boolean {
  const { worktree } = fence
  if (worktree === undefined || scope.cwd === undefined) return false
  const place = placeOf(path, scope.cwd, fence)
  return place.where !== 'strange' && isInside(place.path, worktree.top)
}

/** Where only some forms are allowed, a word that is known later may make it another. */
function isKnown(args: readonly Arg[]): boolean {
  return args.every(arg => arg.known)
}

function wordsOf(args: readonly Arg[]): Words {
  const { before, after } = atDoubleDash(args)
  return {
    flags: before.filter(isFlag).map(arg => arg.value),
    operands: before.filter(arg => !isFlag(arg)).map(arg => arg.value),
    paths: after.map(arg => arg.value),
  }
}
