import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { KeptApart, RunView, TaskCounts } from '../../domain/runs/run-view.ts'
import type { Tone } from '../render/paint.ts'
import { firstLine, neutral } from '../render/text.ts'

/** How an ending looks. */
export const OUTCOME_LOOKS: Record<RunOutcome, { glyph: string; tone: Tone; words: string }> = {
  complete: { glyph: '✓', tone: 'green', words: 'complete' },
  failure: { glyph: '✗', tone: 'red', words: 'failed' },
  limit_reached: { glyph: '■', tone: 'yellow', words: 'stopped by its limit' },
  blocked: { glyph: '○', tone: 'yellow', words: 'blocked' },
  no_plan: { glyph: '○', tone: 'yellow', words: 'nothing to do' },
  interrupted: { glyph: '■', tone: 'yellow', words: 'interrupted' },
}

type Shown = Pick<RunView, 'state' | 'outcome' | 'stopping'>

/** `● running`, `⏸ paused`, `✓ complete`. */
export function stateOf({ state, outcome, stopping }: Shown): { text: string; tone: Tone } {
  if (outcome) {
    const { glyph, tone, words } = OUTCOME_LOOKS[outcome]
    return { text: `${glyph} ${words}`, tone }
  }
  if (state === 'paused') return { text: '⏸ paused', tone: 'yellow' }
  return stopping ? { text: '● ends after this', tone: 'yellow' } : { text: '● running', tone: 'green' }
}

/** What a person calls what it drains. */
export function targetText({ target }: Pick<RunView, 'target'>): string {
  if (target.kind === 'project') return 'the whole project'
  return target.kind === 'feature' ? `feature ${neutral(target.name)}` : `task ${target.id}`
}

/** `3 done (unverified), 1 failed, 2 left` */
export function countsText({ tasks, unverified }: Pick<RunView, 'tasks' | 'unverified'>): string {
  const { done, failed, waiting, left } = countsOf(tasks)
  const checked = done - unverified
  return (
    [
      ...(checked > 0 ? [`${checked} done`] : []),
      ...(unverified > 0 ? [`${unverified} done (unverified)`] : []),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(waiting > 0 ? [`${waiting} waiting`] : []),
      ...(left > 0 ? [`${left} left`] : []),
    ].join(', ') || 'no tasks'
  )
}

/** `3 merged, 1 not merged`; nothing where nothing was done in a worktree. */
export function mergedText({ merged, unmerged }: Pick<RunView, 'merged' | 'unmerged'>): string | undefined {
  const told = [...(merged > 0 ? [`${merged} merged`] : []), ...(unmerged > 0 ? [`${unmerged} not merged`] : [])]
  return told.length === 0 ? undefined : told.join(', ')
}

/** The states as a person counts them. */
export function countsOf(tasks: TaskCounts): Record<'done' | 'failed' | 'waiting' | 'left', number> {
  const of = (...states: (keyof TaskCounts)[]) => states.reduce((sum, state) => sum + (tasks[state] ?? 0), 0)
  return {
    done: of('done'),
    failed: of('failed'),
    waiting: of('waiting'),
    left: of('blocked', 'ready', 'running', 'verifying', 'merging'),
  }
}

/** Why nothing new begins, while it is open; nothing where it just works. */
export function heldUpText({ state, reason }: Pick<RunView, 'state' | 'reason'>): string | undefined {
  if (reason === null || state === 'ended') return undefined
  return state === 'paused' ? `Paused: ${neutral(reason)}` : `The next task cannot begin yet: ${neutral(reason)}`
}

/** `t-1 Name waits for t-2: both will probably touch src/api` */
export function apartText({ id, title, beside, path }: KeptApart): string {
  return `${id} ${firstLine(title)} waits for ${beside}: both will probably touch ${neutral(path)}`
}

/** `$0.42` */
export function costText(cost: number): string {
  return `$${cost.toFixed(2)}`
}
