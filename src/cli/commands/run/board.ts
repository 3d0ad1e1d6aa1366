import { messageOf } from '../../../base/errors.ts'
import type { AttemptNow, AttemptView, RunDetail } from '../../../domain/run.ts'
import { isPausedByPerson } from '../../../domain/session-end.ts'
import { duration } from '../../render/format.ts'
import { cut, cutAtWord, type Terminal, widthOf, wrap } from '../../render/text.ts'
import {
  activityText,
  costText,
  countsText,
  groupCounts,
  heldUpText,
  keptApartLines,
  quotaText,
  runStateText,
  targetText,
  timeLeftText,
} from './format.ts'
import { attemptHead } from './lines.ts'

/**
 * The board of a run and what the person is doing. `watch`: only watching. `menu`: choosing an action after Ctrl+C. `pick`:
 * choosing one of several open tasks. `guide`: typing guidance for a task.
 */
export interface Board {
  run: RunDetail
  mode: 'watch' | 'menu' | 'pick' | 'guide'
  /** When Ctrl+C was pressed last. */
  interruptedAt: number | undefined
  /** The task that gets the guidance. */
  task: string | undefined
  draft: string
  notice: string
  /** The problem while the daemon does not answer; otherwise empty. */
  offline: string
}

/** One key press: the name of the key, or `text` and what it types. */
export interface BoardKey {
  name: 'interrupt' | 'end' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
  at: number
}

/** `answer`: the person wants to answer what waits, in the inbox. */
export type BoardAction =
  | { do: 'leave' }
  | { do: 'answer' }
  | { do: 'stop'; now: boolean }
  | { do: 'guide'; task: string; text: string }

export interface BoardKeyResult {
  board: Board
  action?: BoardAction
}

/** A second Ctrl+C within this time stops the run now. */
const TWICE_MS = 2_000
/** Longer guidance is refused by the daemon. */
const LONGEST = 100_000

/** A board that only shows the run. */
export function openBoard(run: RunDetail): Board {
  return { run, mode: 'watch', interruptedAt: undefined, task: undefined, draft: '', notice: '', offline: '' }
}

/** Applies a key to the board. */
export function pressBoardKey(board: Board, key: BoardKey): BoardKeyResult {
  if (key.name === 'interrupt') return pressInterrupt(board, key.at)
  switch (board.mode) {
    case 'watch':
      return pressWatchKey(board, key.text.toLowerCase())
    case 'menu':
      return pressMenuKey(board, key)
    case 'pick':
      return pressPickKey(board, key)
    case 'guide':
      return pressGuideKey(board, key)
  }
}

/** Attempts that have begun and are not over: they are at work or wait for a person. */
function openAttempts({ attempts }: Pick<RunDetail, 'attempts'>): AttemptView[] {
  return attempts.filter(({ outcome }) => outcome === null)
}

function pressInterrupt(board: Board, at: number): BoardKeyResult {
  const isSecond = board.interruptedAt !== undefined && at - board.interruptedAt <= TWICE_MS
  if (isSecond) return stop(board, true)
  return { board: { ...board, mode: 'menu', draft: '', task: undefined, interruptedAt: at, notice: '' } }
}

function pressWatchKey(board: Board, letter: string): BoardKeyResult {
  if (letter === 'a') return { board, action: { do: 'answer' } }
  return letter === 'q' ? { board, action: { do: 'leave' } } : { board }
}

function pressMenuKey(board: Board, { name, text }: BoardKey): BoardKeyResult {
  const watching: Board = { ...board, mode: 'watch', notice: '' }
  if (name === 'escape') return { board: watching }
  switch (text.toLowerCase()) {
    case 'd':
    case 'q':
      return { board: watching, action: { do: 'leave' } }
    case 's':
      return stop(board, false)
    case 'n':
      return stop(board, true)
    case 'g': {
      const [only, ...others] = openAttempts(board.run)
      if (!only) return { board: { ...watching, notice: 'No task is at work that could get guidance' } }
      return { board: others.length > 0 ? { ...board, mode: 'pick' } : startGuiding(board, only) }
    }
    default:
      return { board }
  }
}

function pressPickKey(board: Board, { name, text }: BoardKey): BoardKeyResult {
  if (name === 'escape') return { board: { ...board, mode: 'menu' } }
  const attempt = /^[1-9]$/.test(text) ? openAttempts(board.run)[Number(text) - 1] : undefined
  return { board: attempt ? startGuiding(board, attempt) : board }
}

function startGuiding(board: Board, { task_id }: AttemptView): Board {
  return { ...board, mode: 'guide', task: task_id, draft: '', notice: '' }
}

/** Enter begins a new line, and on an empty line it sends the text; Ctrl+D sends it anywhere. */
function pressGuideKey(board: Board, { name, text }: BoardKey): BoardKeyResult {
  const { draft } = board
  if (name === 'escape') return { board: { ...board, mode: 'menu', draft: '' } }
  if (name === 'backspace') return { board: { ...board, draft: Array.from(draft).slice(0, -1).join('') } }
  if (name === 'text') return { board: { ...board, draft: (draft + text).slice(0, LONGEST) } }
  const isFinished = name === 'end' || draft === '' || draft.endsWith('\n')
  if (!isFinished) return { board: { ...board, draft: `${draft}\n` } }
  const watching: Board = { ...board, mode: 'watch', draft: '', task: undefined }
  const guidance = draft.trim()
  if (guidance === '' || board.task === undefined) return { board: watching }
  return { board: watching, action: { do: 'guide', task: board.task, text: guidance } }
}

function stop(board: Board, now: boolean): BoardKeyResult {
  const notice = now ? 'Stopping: tasks at work become ready again…' : 'The run ends after the tasks at work'
  return { board: { ...board, mode: 'watch', draft: '', notice }, action: { do: 'stop', now } }
}

/** An action that the daemon carries out. */
export type PerformedAction = Exclude<BoardAction, { do: 'leave' | 'answer' }>

export interface BoardStoreDeps {
  leave(): void
  /** Leaves the board for the inbox. */
  answer(): void
  /** Performs an action and returns a line about the outcome. */
  perform(action: PerformedAction): Promise<string>
}

/** The current board and everything that changes it. It is kept outside the React view, so that no key sees an old state. */
export interface BoardStore {
  board(): Board
  onChange(listener: () => void): () => void
  press(key: BoardKey): void
  show(run: RunDetail): void
  /** Shows that the daemon does not answer. */
  showOffline(problem: string): void
}

/** Opens a store with the board of a run. */
export function openBoardStore(run: RunDetail, { leave, answer, perform }: BoardStoreDeps): BoardStore {
  let board = openBoard(run)
  const listeners = new Set<() => void>()
  const set = (next: Board) => {
    if (next === board) return
    board = next
    for (const listener of listeners) listener()
  }
  const notify = (notice: string) => set({ ...board, notice })
  return {
    board: () => board,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key) {
      const result = pressBoardKey(board, key)
      set(result.board)
      if (result.action?.do === 'leave') leave()
      else if (result.action?.do === 'answer') answer()
      else if (result.action) perform(result.action).then(notify, error => notify(messageOf(error)))
    },
    show: now => set({ ...board, run: now, offline: '' }),
    showOffline: problem => set({ ...board, offline: `${problem}; trying again` }),
  }
}

export interface BoardViewport {
  terminal: Terminal
  /** The number of lines on the screen. */
  height: number
  now: number
}

/** The whole screen: the progress, what is at work, what was done last, and the keys. */
export function boardFrame(board: Board, { terminal, height, now }: BoardViewport): string[] {
  const { paint, width } = terminal
  const { run } = board
  const below = [
    paint('dim', '─'.repeat(width - 1)),
    ...wrap(board.offline || board.notice, width - 1)
      .slice(0, 2)
      .map(line => paint('yellow', line)),
    ...keyLines(board, { width, room: Math.max(2, Math.floor(height / 3)) }),
  ]
  const top = [...headLines(board, terminal, now), '']
  const open = openAttempts(run).flatMap((attempt, index) =>
    openLines(run.state === 'paused' ? pausedWithRun(attempt) : attempt, {
      ...{ terminal, now, number: board.mode === 'pick' ? index + 1 : undefined },
    }),
  )
  const keptApart = keptApartLines(run).map(line => wrap(line, width - 1).map(part => paint('yellow', part)))
  const idle = run.reason === null ? 'The next task begins…' : 'No task is at work.'
  const begun = open.length > 0 ? open : [paint('dim', run.state === 'paused' ? 'Paused.' : idle)]
  const atWork = [...begun, ...keptApart.slice(0, MOST_KEPT_APART).flat()]
  const room = Math.max(0, height - top.length - atWork.length - below.length - 2)
  const finished = run.attempts.filter(({ outcome }) => outcome !== null).slice(-Math.max(1, room))
  const latest =
    room === 0 || finished.length === 0
      ? []
      : ['', ...finished.map(attempt => cutAtWord(attemptHead(attempt, terminal), width - 1))]
  const filled = [...top, ...atWork, ...latest]
  const empty = Array.from({ length: Math.max(0, height - filled.length - below.length) }, () => '')
  return [...filled, ...empty, ...below].slice(-height)
}

/** A session that was paused with its run goes on with it: the head of the board says how. */
function pausedWithRun(attempt: AttemptView): AttemptView {
  const { why, ...now } = attempt.now ?? {}
  return attempt.now && isPausedByPerson(why) ? { ...attempt, now: now as AttemptNow } : attempt
}

/** The most tasks that are shown as waiting for another one. */
const MOST_KEPT_APART = 3

function headLines({ run }: Board, { paint, width }: Terminal, now: number): string[] {
  const { text, tone } = runStateText(run)
  const took = duration((run.ended_at ?? now) - run.created_at)
  const facts = [
    costText(run.cost_usd),
    quotaText(run),
    timeLeftText(run) && `${timeLeftText(run)} left`,
    `attempt ${run.iterations}${run.limit === null ? '' : ` of ${run.limit}`}`,
    took,
  ].filter(fact => fact !== undefined)
  return [
    `${paint('bold', cut(`Run ${run.id}: ${targetText(run)}`, width - widthOf(text) - 3))}  ${paint(tone, text)}`,
    cut(`${progressBar(run.tasks, Math.min(30, Math.floor(width / 3)))} ${countsText(run)}`, width - 1),
    cut(facts.join(' · '), width - 1),
    ...[heldUpText(run), ...(run.state === 'paused' ? [`Go on with: pcc resume ${run.id}`] : [])]
      .flatMap(text => wrap(text ?? '', width - 1))
      .filter(Boolean)
      .map(line => paint('yellow', line)),
  ]
}

/** `██████░░░░`: the share of tasks that are over. */
function progressBar(tasks: Board['run']['tasks'], width: number): string {
  const { done, failed, waiting, left } = groupCounts(tasks)
  const all = done + failed + waiting + left
  const full = all === 0 ? 0 : Math.floor(((done + failed) / all) * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)}`
}

function openLines(
  attempt: AttemptView,
  { terminal, now, number }: { terminal: Terminal; now: number; number: number | undefined },
): string[] {
  const { paint, width } = terminal
  const isWaiting = attempt.now?.status !== 'processing' && attempt.now?.status !== 'idle'
  const took = duration(now - attempt.started_at)
  const head = `${number === undefined ? '' : `${number}. `}${attemptHead(attempt, terminal)}  ${took}`
  const activity = activityText(attempt, now)
  // What it waits for ends with what to type, which must not be cut.
  const lines = isWaiting ? wrap(activity, width - 5) : [activity]
  const shown =
    lines.length > MOST_REASON ? [...lines.slice(0, MOST_REASON - 1), lines.slice(MOST_REASON - 1).join(' ')] : lines
  return [
    cutAtWord(head, width - 1),
    ...(activity === ''
      ? []
      : shown.map(line => paint(isWaiting ? 'yellow' : 'dim', cutAtWord(`    ${line}`, width - 1)))),
  ]
}

const MOST_REASON = 3

function keyLines(board: Board, { width, room }: { width: number; room: number }): string[] {
  switch (board.mode) {
    case 'watch':
      return packKeys(
        [
          ...(board.run.needs?.length ? ['[A] Answer what waits'] : []),
          board.run.state === 'paused' ? '[Q] Leave it paused' : '[Q] Detach, it goes on',
          '[Ctrl+C] Menu',
        ],
        width - 1,
      )
    case 'menu':
      return packKeys(
        [
          '[D]etach, it goes on',
          '[G]uidance to the task',
          '[S]top after this task',
          'stop [N]ow',
          '[Esc] Back',
          '(Ctrl+C again: stop now)',
        ],
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

/** As many keys on each line as fit; a key and what it does stay together. */
function packKeys(keys: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const key of keys) {
    const longer = `${lines.at(-1)}  ${key}`
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(key)
  }
  return lines
}
