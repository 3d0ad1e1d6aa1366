import { appendFileSync } from 'node:fs'

/** The steps of a task's way at which a daemon that runs from source can be made to die, in the order of that way. */
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

/** Those of a task that works in a worktree, from the place in which it works to its way into the target. */
export const WORKSPACE_CRASH_POINTS = [
  'place.before-add',
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

export type CrashPointName = (typeof CRASH_POINTS | typeof WORKSPACE_CRASH_POINTS)[number]

/** What is published is never made to die. */
const FROM_SOURCE = import.meta.url.endsWith('.ts')

/** How often each was passed, where somebody wants to know: the one thing that has to outlast a call. */
const passed = new Map<CrashPointName, number>()

/**
 * Dies here and now, so that not even a `finally` runs, where `PCC_CRASH_AT` names this step; `name:3` means the third time.
 * With `PCC_CRASH_LOG` each step is noted in that file when it is first passed, and as `died <step>` where it is the last one.
 */
export function crashPoint(name: CrashPointName): void {
  if (!FROM_SOURCE) return
  const { PCC_CRASH_AT: wanted, PCC_CRASH_LOG: file } = process.env
  if (wanted === undefined && file === undefined) return
  const count = (passed.get(name) ?? 0) + 1
  passed.set(name, count)
  if (file !== undefined && count === 1) appendFileSync(file, `${name}\n`)
  if (wanted !== name && wanted !== `${name}:${count}`) return
  if (file !== undefined) appendFileSync(file, `died ${name}\n`)
  process.kill(process.pid, 'SIGKILL')
}
