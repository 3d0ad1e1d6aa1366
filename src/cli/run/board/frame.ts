import type { AttemptView } from '../../../domain/runs/run-view.ts'
import { duration } from '../../render/format.ts'
import type { Terminal } from '../../render/paint.ts'
import { cut, widthOf, wrap } from '../../render/text.ts'
import { attemptHead } from '../plain-lines.ts'
import { apartText, costText, countsOf, countsText, heldUpText, stateOf, targetText } from '../words.ts'
import { type Board, openAttempts } from './board.ts'
import { doingText, leftText, quotaText } from './words.ts'

export interface Page {
  terminal: Terminal
  /** Lines there are on the screen. */
  height: number
  now: number
}

/** The whole screen: how far it is, what is at work, what was done last, and the keys that count. */
export function boardFrame(board: Board, { terminal, height, now }: Page): string[] {
  const { paint, width } = terminal
  const { run } = board
  const below = [
    paint('dim', '─'.repeat(width - 1)),
    ...wrap(board.offline || board.notice, width - 1)
      .slice(0, 2)
      .map(line => paint('yellow', line)),
    ...footer(board, { width, room: Math.max(2, Math.floor(height / 3)) }),
  ]
  const top = [...headLines(board, terminal, now), '']
  const open = openAttempts(run).flatMap((attempt, index) =>
    openLines(attempt, { terminal, now, number: board.mode === 'pick' ? index + 1 : undefined }),
  )
  const apart = run.kept_apart.map(each => paint('yellow', cut(apartText(each), width - 1)))
  const begun = open.length > 0 ? open : [paint('dim', run.state === 'paused' ? 'Paused.' : 'The next task begins…')]
  const atWork = [...begun, ...apart.slice(0, MOST_APART)]
  const room = Math.max(0, height - top.length - atWork.length - below.length - 2)
  const over = run.attempts.filter(({ outcome }) => outcome !== null).slice(-Math.max(1, room))
  const latest =
    room === 0 || over.length === 0 ? [] : ['', ...over.map(one => cut(attemptHead(one, terminal), width - 1))]
  const filled = [...top, ...atWork, ...latest]
  const empty = Array.from({ length: Math.max(0, height - filled.length - below.length) }, () => '')
  return [...filled, ...empty, ...below].slice(-height)
}

/** Lines for tasks that wait for another one. */
const MOST_APART = 3

function headLines({ run }: Board, { paint, width }: Terminal, now: number): string[] {
  const { text, tone } = stateOf(run)
  const took = duration((run.ended_at ?? now) - run.created_at)
  const facts = [
    costText(run.cost_usd),
    quotaText(run),
    leftText(run) && `${leftText(run)} left`,
    `attempt ${run.iterations}${run.limit === null ? '' : ` of ${run.limit}`}`,
    took,
  ].filter(fact => fact !== undefined)
  return [
    `${paint('bold', cut(`Run ${run.id}: ${targetText(run)}`, width - widthOf(text) - 3))}  ${paint(tone, text)}`,
    cut(`${bar(run.tasks, Math.min(30, Math.floor(width / 3)))} ${countsText(run)}`, width - 1),
    cut(facts.join(' · '), width - 1),
    ...wrap(heldUpText(run) ?? '', width - 1)
      .filter(Boolean)
      .map(line => paint('yellow', line)),
  ]
}

/** `██████░░░░`: what is over, of all there is. */
function bar(tasks: Board['run']['tasks'], width: number): string {
  const { done, failed, waiting, left } = countsOf(tasks)
  const all = done + failed + waiting + left
  const full = all === 0 ? 0 : Math.floor(((done + failed) / all) * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)}`
}

function openLines(
  attempt: AttemptView,
  { terminal, now, number }: { terminal: Terminal; now: number; number: number | undefined },
): string[] {
  const { paint, width } = terminal
  const waits = attempt.now?.status !== 'processing' && attempt.now?.status !== 'idle'
  const took = duration(now - attempt.started_at)
  const head = `${number === undefined ? '' : `${number}. `}${attemptHead(attempt, terminal)}  ${took}`
  const doing = doingText(attempt, now)
  return [
    cut(head, width - 1),
    ...(doing === '' ? [] : [paint(waits ? 'yellow' : 'dim', cut(`    ${doing}`, width - 1))]),
  ]
}

function footer(board: Board, { width, room }: { width: number; room: number }): string[] {
  switch (board.mode) {
    case 'watch':
      return ['[Q] Detach, it goes on  [Ctrl+C] Menu']
    case 'menu':
      return wrap(
        '[D]etach, it goes on  [G]uidance to the task  [S]top after this task  stop [N]ow  [Esc] Back  (Ctrl+C again: stop now)',
        width - 1,
      )
    case 'pick':
      return ['Which task? [1-9]  [Esc] Back']
    case 'guide':
      return [
        cut(`Guidance to ${board.task} (an empty line or Ctrl+D sends it, Esc leaves it):`, width - 1),
        ...`${board.draft}_`
          .split('\n')
          .flatMap(line => wrap(line, width - 3).map(part => `> ${part}`))
          .slice(-room),
      ]
  }
}
