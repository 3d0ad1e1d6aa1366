import { dateTime, wakeTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { OpenAsk, SessionView } from '../../domain/api.ts'
import { CONFIDENCE_THRESHOLD } from '../../domain/option-values.ts'
import type { TaskView } from '../../domain/task.ts'
import {
  commandsToResume,
  counted,
  duration,
  fullCount,
  hasEnded,
  money,
  nameOf,
  shownPath,
  statusWords,
} from './format.ts'
import { cut, firstLine, pad, type Terminal, widthOf, wrap } from './text.ts'

export interface PageOptions {
  terminal: Terminal
  now: number
  cwd: string
  home: string | undefined
}

const PLAN_GLYPHS = { done: '✓', active: '→', pending: '○' } as const
/** The text for the default brain: a person decides what the rules are not sure about. */
const RULES = 'rules (asks you when unsure)'

/** The brain of a session as the head of a page shows it. */
function describeBrain({ mind }: SessionView): string {
  if (!mind || (mind.brain === 'rules' && mind.threshold === CONFIDENCE_THRESHOLD)) return RULES
  return `${mind.brain} (confidence threshold: ${mind.threshold})`
}

/** The page of `pcc status`. */
export function sessionPage(session: SessionView, options: PageOptions): string[] {
  const { terminal, now } = options
  const status = statusWords(session)
  const reason = session.reason ? wrap(neutral(session.reason), terminal.width - 13) : []
  const over = hasEnded(session)
  const fact = (name: string, value: string) => `${pad13(`${name}:`)}${value}`
  return [
    terminal.paint('bold', `Session: ${session.id} (${firstLine(session.name)})`),
    terminal.paint('dim', '─'.repeat(Math.min(38, terminal.width))),
    fact('Project', neutral(shownPath(session.project, options.cwd, options.home))),
    ...(session.place
      ? [
          fact('Worktree', neutral(shownPath(session.place.directory, options.cwd, options.home))),
          fact('Branch', `${neutral(session.place.branch)}, for ${neutral(session.place.target)}`),
        ]
      : []),
    fact('Status', terminal.paint(status.tone, status.text)),
    ...reason.map(line => terminal.paint('dim', `${pad13('')}${line}`)),
    ...(session.resumes_at === null || session.resumes_at <= now
      ? []
      : [fact('Resumes', `by itself at ${wakeTime(session.resumes_at, now)}`)]),
    ...(session.asks.length > 0 ? [] : commandsToResume(session).map(command => fact('Go on', command))),
    fact('Brain', describeBrain(session)),
    fact('Agent', `${session.agent}${session.model ? ` (${firstLine(session.model)})` : ''}`),
    ...(session.host && !over ? [fact('Terminal', describeTerminal(session))] : []),
    ...(session.handed ?? []).map(({ agent, left_at, until, why }) =>
      fact(
        'Before',
        `${neutral(agent)}, until ${dateTime(left_at)} (${why}${until === null ? '' : `, back ${wakeTime(until, now)}`})`,
      ),
    ),
    fact('Started', dateTime(session.created_at)),
    fact('Duration', duration((session.ended_at ?? now) - session.created_at)),
    ...(session.vendor_id ? [fact('Resume id', firstLine(session.vendor_id))] : []),
    '',
    `${over ? 'Task' : 'Current Task'}: ${firstLine(session.title ?? session.task)}`,
    ...(over || session.activity === null ? [] : [`Now: ${firstLine(session.activity)}`]),
    ...progressLines(session, terminal),
    '',
    `Token Usage: ${contextUsage(session)}`,
    ...tokensSpentLine(session),
    `Cost: ${money(session.cost_usd)} in ${counted(session.turns, 'turn')}`,
    `Questions Answered: ${autoAndHuman(session.questions)}`,
    `Tools Approved: ${autoAndHuman(session.tools)}`,
    ...(session.tools.denied > 0 ? [`Tools Denied: ${session.tools.denied}`] : []),
    ...queueLines(session, options),
    ...askLines(session, terminal),
  ]
}

/** A plan, each step with the glyph of its state. */
export function planLines(plan: SessionView['plan'], terminal: Terminal): string[] {
  const tones = { done: 'green', active: 'cyan', pending: 'dim' } as const
  return plan.map(({ state, text }) =>
    terminal.paint(tones[state], `${PLAN_GLYPHS[state]} ${cut(firstLine(text), terminal.width - 16)}`),
  )
}

function progressLines(session: SessionView, terminal: Terminal): string[] {
  return session.plan.length === 0 ? [] : ['Progress:', ...planLines(session.plan, terminal).map(line => `  ${line}`)]
}

function askLines(session: SessionView, terminal: Terminal): string[] {
  if (session.asks.length === 0) return []
  return [
    '',
    terminal.paint('yellow', 'Needs you:'),
    ...session.asks.map(ask => `  ${cut(askLine(ask), terminal.width - 2)}`),
    `  Answer with: pcc attach ${session.id}`,
    ...session.asks.flatMap(respondLine),
  ]
}

/** A parked ask has a number, by which it can be answered from any terminal. */
function respondLine({ kind, number }: OpenAsk): string[] {
  if (number === undefined) return []
  return [`           or: pcc respond ${number} ${kind === 'permission' ? '--approve, or --deny' : '"…"'}`]
}

function askLine(ask: OpenAsk): string {
  if (ask.kind === 'permission')
    return `${ask.tool} → ${firstLine(ask.target)} (${ask.risk} risk: ${firstLine(ask.reason)})`
  return ask.questions.map(item => `"${firstLine(item.question)}"`).join(' ')
}

function contextUsage({ tokens }: SessionView): string {
  if (tokens.context === 0) return '–'
  if (tokens.window === 0) return `${fullCount(tokens.context)} in context`
  const share = Math.floor((tokens.context / tokens.window) * 100)
  return `${fullCount(tokens.context)} / ${fullCount(tokens.window)} (${share}%)`
}

function tokensSpentLine({ tokens }: SessionView): string[] {
  if (tokens.input + tokens.output === 0) return []
  return [`Tokens Spent: ${fullCount(tokens.input)} in, ${fullCount(tokens.output)} out`]
}

/** The task that the session works on, or will continue with. */
function currentTask({ queue, task_id }: SessionView): TaskView | undefined {
  return queue?.find(({ id }) => id === task_id)
}

/** The most tasks of the queue that are shown; the rest are counted. */
const QUEUE_SHOWN = 20

function queueLines(session: SessionView, { terminal, now }: PageOptions): string[] {
  const current = currentTask(session)
  const waiting = (session.queue ?? []).filter(task => task !== current)
  if (waiting.length === 0) return []
  const more = waiting.length - QUEUE_SHOWN
  const lines = waiting.slice(0, QUEUE_SHOWN).flatMap((task, index) => {
    const number = `${index + 1}. `
    const detail = taskDetail(task, now)
    const title = cut(firstLine(task.title), Math.max(20, terminal.width - 2 - number.length - detail.length))
    const reason = task.reason === null ? [] : wrap(firstLine(task.reason), terminal.width - 5)
    return [
      `  ${number}${title}${terminal.paint('dim', detail)}`,
      ...reason.map(line => terminal.paint('dim', `     ${line}`)),
    ]
  })
  return ['', 'Task Queue:', ...lines, ...(more > 0 ? [`  … and ${more} more`] : [])]
}

/** The id, which `--after` takes, and whatever differs from the default. */
function taskDetail({ id, state, priority, reason, after, wakes_at }: TaskView, now: number): string {
  const details = [
    ...(priority === 0 ? [] : [`priority ${priority}`]),
    ...(state === 'blocked' && reason === null ? [`after ${after.join(', ')}`] : []),
    ...(state === 'waiting' ? [wakes_at === null ? 'waits' : `waits until ${wakeTime(wakes_at, now)}`] : []),
  ]
  return ` (${[id, ...details].join(', ')})`
}

function autoAndHuman({ auto, human }: { auto: number; human: number }): string {
  return `${auto + human} (${auto} auto, ${human} human)`
}

function pad13(text: string): string {
  return text.padEnd(13)
}

/** The terminal of the agent and the command to enter it or hand it back. */
function describeTerminal({ id, host, taken_over, pausing }: SessionView): string {
  if (!taken_over) return `${host}, enter it with: pcc attach ${id}`
  return `${host}, yours until${pausing ? ' you hand it back, then it pauses' : ''}: pcc handback ${id}`
}

/** The width of the box in columns; a narrow terminal gets a narrower box. */
const BOX_WIDTH = 65

/** The box above the live view of a session that was just started. */
export function startHeader(session: SessionView, { terminal, cwd, home }: Omit<PageOptions, 'now'>): string[] {
  const inside = Math.min(BOX_WIDTH, terminal.width) - 2
  const title = cut(` PerpetualCC Session: ${firstLine(session.name)} `, inside - 2)
  const rows = [
    `Project: ${neutral(shownPath(session.project, cwd, home))}`,
    ...(session.place ? [`Worktree: ${neutral(session.place.branch)}, for ${neutral(session.place.target)}`] : []),
    `Brain: ${neutral(describeBrain(session))}`,
    `Agent: ${session.agent}${session.model ? ` (${firstLine(session.model)})` : ''}`,
    `Status: ${statusWords(session).text.replace(/^\S+ /, '')}`,
  ]
  const side = terminal.paint('dim', '│')
  return [
    terminal.paint('dim', '╭─') +
      terminal.paint('bold', title) +
      drawEdge('─'.repeat(inside - 1 - widthOf(title)), '╮', terminal),
    ...rows.map(row => `${side} ${pad(cut(row, inside - 2), inside - 2)} ${side}`),
    drawEdge(`╰${'─'.repeat(inside)}`, '╯', terminal),
    '',
  ]
}

/** The heading above the live view of an existing session. */
export function attachHeader(session: SessionView, terminal: Terminal): string[] {
  return underlined(`Attached to session ${nameOf(session)}`, terminal)
}

function underlined(line: string, terminal: Terminal): string[] {
  return [terminal.paint('bold', line), terminal.paint('dim', '─'.repeat(Math.min(widthOf(line), terminal.width))), '']
}

/** The heading above the live view of a resumed session. */
export function resumeHeader(session: SessionView, terminal: Terminal): string[] {
  return underlined(`Going on with session ${nameOf(session)}`, terminal)
}

/** The keys that leave the live view and that stop the session. */
export function keysHint(terminal: Terminal): string[] {
  return ['Ctrl+C to detach (session continues in background)', 'Ctrl+D to stop session', ''].map(line =>
    terminal.paint('dim', line),
  )
}

function drawEdge(text: string, corner: string, terminal: Terminal): string {
  return terminal.paint('dim', text + corner)
}
