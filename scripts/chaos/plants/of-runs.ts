import type { Plant } from './plant.ts'
import { besideAPerson, running } from './rounds.ts'

/** Mistakes in merging a run's work into its branch. */
export const OF_RUNS: readonly Plant[] = [
  {
    id: 'checkout-keeps-its-old-index',
    hurts: 'after a merge the checkout shows changes that nobody made',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/move-target.ts',
        symbol: 'underLock',
        find: 'if (!(await installIndex(own, index.file)))',
        put: 'if (!own)',
      },
    ],
    round: running(),
  },
  {
    id: 'half-moved-checkout-not-mended',
    hurts: 'a daemon that dies while it moves a checkout leaves it as if somebody had undone the work',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/target-checkout.ts',
        symbol: 'repairCheckout',
        find: 'await followBranch(checkout, lock.from, tip)',
        put: 'void followBranch',
      },
    ],
    round: running('merge.before-index'),
  },
  {
    id: 'merged-without-its-work',
    hurts: 'a task is done and merged, and what it wrote is in no branch',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/attempt.ts',
        symbol: 'land',
        find: 'to: last.result',
        put: 'to: tip',
      },
    ],
    round: running(),
  },
  {
    id: 'merge-in-another-worktree',
    hurts: 'a merge works in the place of another task, and takes that away when it is done',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/merge-state.ts',
        symbol: 'findMergeWorktree',
        find: 'const row = await store.worktrees.get({ task: task_id, attempt })',
        put: 'const row = task_id === undefined ? undefined : (await store.worktrees.list())[0]',
      },
    ],
    round: running(),
  },
  {
    id: 'landing-told-twice',
    hurts: 'a task is told to have landed twice',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/outcomes.ts',
        symbol: 'recordOutcome',
        find: "await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])",
        put: "await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])\n    await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])",
      },
    ],
    round: running('merge.after-ref'),
  },
  {
    id: 'merged-work-not-tidied',
    hurts: 'branches and worktrees of merged tasks pile up',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/outcomes.ts',
        symbol: 'cleanUp',
        find: 'const worktree = await findMergeWorktree(merge, deps)',
        put: 'const worktree = (await findMergeWorktree(merge, deps)) && undefined',
      },
      {
        file: 'src/workspace/merge/outcomes.ts',
        symbol: 'dropBranch',
        find: 'if (isIn)',
        put: 'if (!isIn)',
      },
      {
        file: 'src/workspace/git/refs.ts',
        symbol: 'deleteBranch',
        find: "if (ok && stdout === '\\n')",
        put: "if (!ok && stdout === '\\n')",
      },
    ],
    round: running(),
  },
  {
    id: 'merge-overwrites-the-checkout',
    hurts: 'what a person was writing in the checkout is gone after a merge',
    breaks: ['merged-once'],
    patches: [
      {
        file: 'src/workspace/merge/move-target.ts',
        symbol: 'blockedBy',
        find: 'if (inTheWay.length > 0) {',
        put: 'if (inTheWay.length < 0) {',
      },
      {
        file: 'src/workspace/merge/move-target.ts',
        symbol: 'writeFiles',
        find: "const written = await git(top, ['read-tree', '-m', '-u', from, to], { env })",
        put: "const written = await git(top, ['read-tree', '--reset', '-u', to], { env })",
      },
    ],
    round: besideAPerson,
  },
]
