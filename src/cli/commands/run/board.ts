import { messageOf } from '../../../base/errors.ts'
import type { AttemptView, RunDetail } from '../../../domain/run.ts'
import { duration } from '../../render/format.ts'
import { cut, type Terminal, widthOf, wrap } from '../../render/text.ts'
import {
  apartText,
  costText,
  countsOf,
  countsText,
  doingText,
  heldUpText,
  leftText,
  quotaText,
  runStateText,
  targetText,
} from './format.ts'
import { attemptHead } from './lines.ts'

/**
 * The board of a run and what its person is about to do with it. `watch`: nothing. `menu`: after Ctrl+C, the ways on. `pick`:
 * which of several open tasks is meant. `guide`: words for one of them are being typed.
 */
export interface Board {
  run: RunDetail
  mode: 'watch' | 'menu' | 'pick' | 'guide'
  /** When Ctrl+C was pressed last. */
  interruptedAt: number | undefined
  /** The task that is told something. */
  task: string | undefined
  draft: string
  notice: string
  /** Why nothing new is shown, while the daemon does not answer. */
  offline: string
}

/** One key: its name where it has one, else what it types. */
export interface BoardKey {
  name: 'interrupt' | 'end' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
  at: number
}

export type BoardAction = { do: 'leave' } | { do: 'stop'; now: boolean } | { do: 'guide'; task: string; text: string }

export interface BoardKeyResult {
  board: Board
  wish?: BoardAction
}

/** A second Ctrl+C within this time stops the run now. */
const TWICE_MS = 2_000
/** Longer guidance is refused by the daemon. */
const LONGEST = 100_000

/** A board with nothing on it but the run. */
export function openBoard(run: RunDetail): Board {
  return { run, mode: 'watch', interruptedAt: undefined, task: undefined, draft: '', notice: '', offline: '' }
}

/** What a key does. */
export function pressBoardKey(board: Board, key: BoardKey): BoardKeyResult {
  if (key.name === 'interrupt') return interrupted(board, key.at)
  switch (board.mode) {
    case 'watch':
      return key.text.toLowerCase() === 'q' ? { board, wish: { do: 'leave' } } : { board }
    case 'menu':
      return chosen(board, key)
    case 'pick':
      return picked(board, key)
    case 'guide':
      return typed(board, key)
  }
}

/** Tasks that were begun and are not over: one of them is at work, others may wait for a person. */
function openAttempts({ attempts }: Pick<RunDetail, 'attempts'>): AttemptView[] {
  return attempts.filter(({ outcome }) => outcome === null)
}

function interrupted(board: Board, at: number): BoardKeyResult {
  const isSecond = board.interruptedAt !== undefined && at - board.interruptedAt <= TWICE_MS
  if (isSecond) return stopped(board, true)
  return { board: { ...board, mode: 'menu', draft: '', task: undefined, interruptedAt: at, notice: '' } }
}

function chosen(board: Board, { name, text }: BoardKey): BoardKeyResult {
  const watching: Board = { ...board, mode: 'watch', notice: '' }
  if (name === 'escape') return { board: watching }
  switch (text.toLowerCase()) {
    case 'd':
    case 'q':
      return { board: watching, wish: { do: 'leave' } }
    case 's':
      return stopped(board, false)
    case 'n':
      return stopped(board, true)
    case 'g': {
      const [only, ...others] = openAttempts(board.run)
      if (!only) return { board: { ...watching, notice: 'No task is at work that could be told something' } }
      return { board: others.length > 0 ? { ...board, mode: 'pick' } : guiding(board, only) }
    }
    default:
      return { board }
  }
}

function picked(board: Board, { name, text }: BoardKey): BoardKeyResult {
  if (name === 'escape') return { board: { ...board, mode: 'menu' } }
  const attempt = /^[1-9]$/.test(text) ? openAttempts(board.run)[Number(text) - 1] : undefined
  return { board: attempt ? guiding(board, attempt) : board }
}

function guiding(board: Board, { task_id }: AttemptView): Board {
  return { ...board, mode: 'guide', task: task_id, draft: '', notice: '' }
}

/** Enter begins a new line, and on an empty one it is the end; Ctrl+D is the end anywhere. */
function typed(board: Board, { name, text }: BoardKey): BoardKeyResult {
  const { draft } = board
  if (name === 'escape') return { board: { ...board, mode: 'menu', draft: '' } }
  if (name === 'backspace') return { board: { ...board, draft: Array.from(draft).slice(0, -1).join('') } }
  if (name === 'text') return { board: { ...board, draft: (draft + text).slice(0, LONGEST) } }
  const isOver = name === 'end' || draft === '' || draft.endsWith('\n')
  if (!isOver) return { board: { ...board, draft: `${draft}\n` } }
  const watching: Board = { ...board, mode: 'watch', draft: '', task: undefined }
  const words = draft.trim()
  if (words === '' || board.task === undefined) return { board: watching }
  return { board: watching, wish: { do: 'guide', task: board.task, text: words } }
}

function stopped(board: Board, now: boolean): BoardKeyResult {
  const notice = now ? 'Stopping; what is at work is given back…' : 'It ends after what is at work'
  return { board: { ...board, mode: 'watch', draft: '', notice }, wish: { do: 'stop', now } }
}

export interface BoardStoreDeps {
  leave(): void
  /** Does what was wished for and says in a line what became of it. */
  carryOut(wish: Exclude<BoardAction, { do: 'leave' }>): Promise<string>
}

/** The board as it is, and everything that changes it. It stands outside of what draws it, so that no key meets an old state. */
export interface BoardStore {
  board(): Board
  onChange(listener: () => void): () => void
  press(key: BoardKey): void
  show(run: RunDetail): void
  /** The daemon does not answer. */
  lost(problem: string): void
}

/** A desk with the board of a run on it. */
export function openBoardStore(run: RunDetail, { leave, carryOut }: BoardStoreDeps): BoardStore {
  let board = openBoard(run)
  const listeners = new Set<() => void>()
  const set = (next: Board) => {
    if (next === board) return
    board = next
    for (const listener of listeners) listener()
  }
  const tell = (notice: string) => set({ ...board, notice })
  return {
    board: () => board,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key) {
      const pressed = pressBoardKey(board, key)
      set(pressed.board)
      if (pressed.wish?.do === 'leave') leave()
      else if (pressed.wish) carryOut(pressed.wish).then(tell, error => tell(messageOf(error)))
    },
    show: now => set({ ...board, run: now, offline: '' }),
    lost: problem => set({ ...board, offline: `${problem}; trying again` }),
  }
}

export interface BoardViewport {
  terminal: Terminal
  /** Lines there are on the screen. */
  height: number
  now: number
}

/** The whole screen: how far it is, what is at work, what was done last, and the keys that count. */
export function boardFrame(board: Board, { terminal, height, now }: BoardViewport): string[] {
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
  const { text, tone } = runStateText(run)
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
