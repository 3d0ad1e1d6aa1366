import type { AttemptView, RunDetail } from '../../../domain/runs/run-view.ts'

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
export interface Press {
  name: 'interrupt' | 'end' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
  at: number
}

export type Wish = { do: 'leave' } | { do: 'stop'; now: boolean } | { do: 'guide'; task: string; text: string }

export interface Pressed {
  board: Board
  wish?: Wish
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
export function press(board: Board, key: Press): Pressed {
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
export function openAttempts({ attempts }: Pick<RunDetail, 'attempts'>): AttemptView[] {
  return attempts.filter(({ outcome }) => outcome === null)
}

function interrupted(board: Board, at: number): Pressed {
  const isSecond = board.interruptedAt !== undefined && at - board.interruptedAt <= TWICE_MS
  if (isSecond) return stopped(board, true)
  return { board: { ...board, mode: 'menu', draft: '', task: undefined, interruptedAt: at, notice: '' } }
}

function chosen(board: Board, { name, text }: Press): Pressed {
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

function picked(board: Board, { name, text }: Press): Pressed {
  if (name === 'escape') return { board: { ...board, mode: 'menu' } }
  const attempt = /^[1-9]$/.test(text) ? openAttempts(board.run)[Number(text) - 1] : undefined
  return { board: attempt ? guiding(board, attempt) : board }
}

function guiding(board: Board, { task_id }: AttemptView): Board {
  return { ...board, mode: 'guide', task: task_id, draft: '', notice: '' }
}

/** Enter begins a new line, and on an empty one it is the end; Ctrl+D is the end anywhere. */
function typed(board: Board, { name, text }: Press): Pressed {
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

function stopped(board: Board, now: boolean): Pressed {
  const notice = now ? 'Stopping; what is at work is given back…' : 'It ends after what is at work'
  return { board: { ...board, mode: 'watch', draft: '', notice }, wish: { do: 'stop', now } }
}
