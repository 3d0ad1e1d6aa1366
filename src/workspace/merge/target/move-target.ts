import type { MergeLane } from '../../../store/merges/shapes.ts'
import { git } from '../../git/git.ts'
import { branchTips } from '../refs.ts'
import { type Checkout, checkoutsOf } from './checkouts.ts'
import { inTheWay } from './in-the-way.ts'
import { repairCheckout } from './repair-checkout.ts'
import { type Moved, updateCheckout } from './update-checkout.ts'

export interface TargetMove extends MergeLane {
  from: string
  to: string
  message: string
}

/**
 * Moves a branch forward from the commit that we know to one that stands on it, and whatever checkout it is in with it. A person
 * who has moved it meanwhile loses nothing: then nothing happens.
 */
export async function moveTarget({ repository, target, from, to, message }: TargetMove): Promise<Moved> {
  const checkouts = await checkoutsOf(repository, target)
  if (!checkouts) return { kind: 'blocked', why: unknown(target) }
  const [checkout, ...others] = checkouts
  if (checkout && others.length > 0) return { kind: 'blocked', why: twice(target, [checkout, ...others]) }
  if (checkout) {
    await repairCheckout(checkout)
    return updateCheckout(checkout, { branch: target, from, to, message })
  }
  const moved = await git(repository, ['update-ref', '-m', message, `refs/heads/${target}`, to, from])
  if (moved.ok) return { kind: 'moved' }
  if ((await branchTips(repository, [target])).get(target) !== from) return { kind: 'raced' }
  return { kind: 'blocked', why: `the branch ${target} cannot be moved: ${moved.stderr.trim()}` }
}

/** Why the target cannot be moved now, looked at before anything is written down; undefined where it can. */
export async function targetBlocked({
  repository,
  target,
  from,
  to,
}: Omit<TargetMove, 'message'>): Promise<string | undefined> {
  const checkouts = await checkoutsOf(repository, target)
  if (!checkouts) return unknown(target)
  const [checkout, ...others] = checkouts
  if (!checkout) return undefined
  if (others.length > 0) return twice(target, [checkout, ...others])
  await repairCheckout(checkout)
  return inTheWay(checkout, from, to)
}

function unknown(target: string): string {
  return `git cannot tell where ${target} is checked out (git worktree list)`
}

function twice(target: string, checkouts: readonly Checkout[]): string {
  return `${target} is checked out in more than one place: ${checkouts.map(({ top }) => top).join(', ')}`
}
