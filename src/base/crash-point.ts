import { appendFileSync } from 'node:fs'

/** The steps of a task at which a daemon that runs from source can be made to die, in the order in which they happen. */
export const CRASH_POINTS = [
  'submit.before-commit',
  'submit.after-commit',
  'claim.before-commit',
  'claim.after-commit',
  'open.before-agent',
  'open.after-agent',
  'started.before-record',
  'started.after-record',
  'record.before-commit',
  'tool.before-verdict',
  'tool.after-verdict',
  'question.before-park',
  'question.before-answer',
  'question.after-answer',
  'turn.before-decision',
  'limit.before-gate',
  'limit.after-gate',
  'checkpoint.before-write',
  'checkpoint.before-rename',
  'checkpoint.after-rename',
  'next-task.before-commit',
  'next-task.after-commit',
  'settle.before-commit',
  'settle.after-commit',
  'wake.before-resume',
  'resume.before-claim',
  'resume.after-claim',
  'answer.before-settle',
  'answer.after-settle',
  'outbox.before-add',
  'outbox.before-send',
  'outbox.after-send',
  'recover.before-sweep',
  'recover.after-sweep',
  'recover.before-commit',
  'recover.after-commit',
] as const

/** The steps of a task that works in a worktree, from making the worktree to merging into the target. */
export const WORKSPACE_CRASH_POINTS = [
  'place.before-add',
  'slot.after-take',
  'slot.before-switch',
  'slot.after-switch',
  'place.after-add',
  'place.before-archive',
  'place.before-remove',
  'place.after-remove',
  'verify.after-commit',
  'verify.before-row',
  'merge.after-intent',
  'merge.after-rebase',
  'merge.after-verify',
  'merge.before-ref',
  'merge.after-files',
  'merge.before-index',
  'merge.after-ref',
  'merge.before-commit',
  'merge.after-commit',
  'merge.before-remove',
  'merge.after-remove',
  'landing.after-verify',
  'landing.before-commit',
  'landing.after-commit',
  'landing.before-return',
] as const

/**
 * The steps between two tasks of a run that share a process, at which `test/daemon/runs/reuse.test.ts` kills a daemon. Only tasks
 * that leave nothing behind pass them.
 */
export const REUSE_CRASH_POINTS = ['keep.after-release', 'clear.before', 'clear.after'] as const

/** The steps of writing to memory, at which `test/memory/kill-rounds.ts` kills a writer. No task passes them in a fixed order. */
export const MEMORY_CRASH_POINTS = [
  'memory.before-append',
  'memory.after-append',
  'memory.before-derived',
  'memory.after-forget-note',
  'memory.before-forgotten',
  'memory.after-rewrite',
] as const

export type CrashPointName = (
  | typeof CRASH_POINTS
  | typeof WORKSPACE_CRASH_POINTS
  | typeof REUSE_CRASH_POINTS
  | typeof MEMORY_CRASH_POINTS
)[number]

/** The published program never dies on purpose. */
const FROM_SOURCE = import.meta.url.endsWith('.ts')

/** How often each step was passed, counted only while one of the two variables below is set. */
const passes = new Map<CrashPointName, number>()

/**
 * Kills this process at once, so that not even a `finally` runs, if `PCC_CRASH_AT` names this step; `name:3` means the third
 * pass. With `PCC_CRASH_LOG`, each step is written to that file on its first pass, and as `died <step>` when the process dies there.
 */
export function crashPoint(name: CrashPointName): void {
  if (!FROM_SOURCE) return
  const { PCC_CRASH_AT: wanted, PCC_CRASH_LOG: file } = process.env
  if (wanted === undefined && file === undefined) return
  const count = (passes.get(name) ?? 0) + 1
  passes.set(name, count)
  if (file !== undefined && count === 1) appendFileSync(file, `${name}\n`)
  if (wanted !== name && wanted !== `${name}:${count}`) return
  if (file !== undefined) appendFileSync(file, `died ${name}\n`)
  process.kill(process.pid, 'SIGKILL')
}
