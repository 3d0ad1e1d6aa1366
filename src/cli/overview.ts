import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import type { AppPaths } from '../base/app-paths.ts'
import { wakeTime } from '../base/clock.ts'
import type { SessionStatus, SessionView } from '../domain/api.ts'
import type { NeedsReply } from '../domain/escalation.ts'
import type { RunDetail, RunView } from '../domain/run.ts'
import { findClient } from './connection/client.ts'
import type { DaemonConnection } from './connection/connection.ts'
import { commandContext } from './context.ts'
import { ago, statusWords } from './render/format.ts'
import { listTable } from './render/list-table.ts'
import { cutAtWord, firstLine, type Terminal, widthOf, wrap } from './render/text.ts'
import { hasProjectFile } from './session-env.ts'

/** The rows of each part of the screen. */
const MOST_ROWS = 6
/** What ended longer ago is no news. */
const RECENT_MS = 24 * 60 * 60_000

/** Prints what `pcc` without a command shows: what runs, what waits, what ended, and what to type next. Starts no daemon. */
export async function overview(program: Command): Promise<void> {
  const { paths, terminal, out } = await commandContext(program)
  const client = (await findClient(paths)) ?? (await findRestarted(paths))
  const { lines, next } = client
    ? await readState(client, terminal)
    : {
        lines: wrap('No daemon is running; the first command that needs one starts it.', terminal.width),
        next: stepsWithoutDaemon(paths),
      }
  const steps: NextStep[] = [...next.slice(0, 2), ['pcc help', 'all commands']]
  for (const line of [...lines, '', terminal.paint('bold', 'Next'), ...nextLines(steps, terminal)]) out(line)
}

/** What to type next. Where the reasons do not fit beside the commands, each is below its command. */
export function nextLines(steps: readonly NextStep[], { width, paint }: Terminal): string[] {
  const column = Math.max(...steps.map(([command]) => command.length))
  const isNarrow = column + 4 + Math.max(...steps.map(([, why]) => why.length)) > width
  return steps.flatMap(([command, why]) =>
    isNarrow
      ? [`  ${command}`, ...wrap(why, width - 4).map(line => `    ${paint('dim', line)}`)]
      : [`  ${command.padEnd(column)}  ${paint('dim', why)}`],
  )
}

/** How long a daemon that was killed may take to come back. */
const RESTART_MS = 5_000

/** A daemon that was killed is started again by its parent, which lives on; anyone else is told that there is none. */
async function findRestarted(paths: AppPaths): Promise<DaemonConnection | undefined> {
  const { findLivingParent } = await import('../daemon/parent-process.ts')
  const until = Date.now() + RESTART_MS
  while (Date.now() < until && (await findLivingParent(paths))) {
    const client = await findClient(paths)
    if (client) return client
    await setTimeout(50)
  }
  return undefined
}

type NextStep = readonly [command: string, why: string]

/** What a person types where nothing is going on. */
function firstSteps(): NextStep[] {
  const start = ['pcc start . --task "…"', 'let an agent do one task'] as const
  if (!hasProjectFile(process.cwd())) return [['pcc init', 'set this project up'], start]
  return [['pcc task add "…"', 'write down what pcc run . does'], start]
}

/** After a restart of the machine there may be open work that goes on only when a daemon runs. Nothing is read: that needs one. */
function stepsWithoutDaemon({ database }: AppPaths): NextStep[] {
  if (!process.getBuiltinModule('node:fs').existsSync(database)) return firstSteps()
  return [
    ['pcc pending', 'start the daemon and see what waits for you'],
    ['pcc list', 'all sessions; pcc resume lets a paused run go on'],
  ]
}

async function readState(client: DaemonConnection, terminal: Terminal): Promise<{ lines: string[]; next: NextStep[] }> {
  const [{ sessions, total = sessions.length }, { runs }, needs, { tasks }, { needsYouLines }] = await Promise.all([
    client.request<{ sessions: SessionView[]; total?: number }>(
      'GET',
      `/sessions?open=true&since=${Date.now() - RECENT_MS}`,
    ),
    client.request<{ runs: RunView[] }>('GET', `/runs?open=true&limit=${MOST_ROWS}`),
    client.request<NeedsReply>('GET', '/needs'),
    client.request<{ tasks: unknown[] }>(
      'GET',
      `/tasks?ready=true&limit=1&project=${encodeURIComponent(process.cwd())}`,
    ),
    import('./render/escalation-lines.ts'),
  ])
  const openRuns = await Promise.all(runs.map(run => addReason(run, client)))
  const now = Date.now()
  const open = sessions.filter(({ status }) => status in OPEN_STATUSES)
  const ended = sessions.filter(
    ({ ended_at, status }) => ended_at !== null && now - ended_at < RECENT_MS && !(status in OPEN_STATUSES),
  )
  const needsPerson = needsYouLines(needs, terminal, now)
  const running = openRuns.filter(({ state }) => state !== 'paused')
  const works =
    running.find(({ stands }) => !stands) ?? running[0] ?? open.find(({ status }) => status === 'processing')
  const paused = openRuns.find(({ state }) => state === 'paused')
  return {
    lines: [
      ...[
        `${open.length === 1 ? '1 session is' : `${open.length} sessions are`} open, ${total} in all${describeCounts(open)}; ${needs.needs.length > 0 ? 'you are needed' : 'nothing needs you'}.`,
        ...openRuns.map(runLine),
      ].flatMap(line => wrap(line, terminal.width)),
      ...(open.length > 0 ? listTable(open.slice(0, MOST_ROWS), terminal, now) : []),
      ...(open.length > MOST_ROWS ? [`  and ${open.length - MOST_ROWS} more: pcc list`] : []),
      ...nextResumeLine(open, now).flatMap(line => wrap(line, terminal.width)),
      ...needsPerson,
      ...endedLines(ended, terminal, now),
    ],
    next: [
      ...(needs.needs.length > 0 ? [['pcc inbox', 'answer what waits, by keys'] as const] : []),
      ...(paused ? [[`pcc resume ${paused.id}`, 'let the paused run go on'] as const] : []),
      ...(works
        ? [
            [
              `pcc attach ${works.id}`,
              'stands' in works && works.stands ? 'see what it waits for' : 'watch it work',
            ] as const,
          ]
        : []),
      ...(ended.length > 0 ? [['pcc report', 'what was done, what failed and why'] as const] : []),
      ...(tasks.length === 0 || works ? [] : [['pcc run .', 'work through the tasks of this project'] as const]),
      ...firstSteps(),
    ],
  }
}

function runLine({ id, project, state, stopping, stands, tasks, why }: RunView & { why: string | undefined }): string {
  const total = Object.values({ ...tasks, cancelled: 0 }).reduce((sum, count) => sum + count, 0)
  const works = stands ? 'waits' : stopping ? 'stops after its current tasks' : 'works'
  const reason = why === undefined ? '' : `. ${why}`
  return `Run ${id} in ${firstLine(project.slice(project.lastIndexOf('/') + 1))} ${state === 'paused' ? 'is paused' : works}: ${tasks.done ?? 0} of ${total} tasks done${reason}`
}

/** Why an open run stands still. What waits for the person has rows of its own on this screen. */
async function addReason(run: RunView, client: DaemonConnection): Promise<RunView & { why: string | undefined }> {
  if (!run.stands || run.state === 'paused') return { ...run, why: undefined }
  const [detail, { heldUpText, standingLines }] = await Promise.all([
    client.request<RunDetail>('GET', `/runs/${run.id}`),
    import('./commands/run/format.ts'),
  ])
  const [first = heldUpText(detail)] = standingLines(detail, Date.now())
  return { ...run, why: first ?? 'It waits for you' }
}

/** The sessions that ended last; what is older is counted by the first line. */
function endedLines(ended: SessionView[], terminal: Terminal, now: number): string[] {
  if (ended.length === 0) return []
  const latest = ended.toSorted((a, b) => (b.ended_at ?? 0) - (a.ended_at ?? 0)).slice(0, MOST_ROWS)
  const states = Math.max(...latest.map(session => widthOf(endWords(session).text)))
  const rows = latest.map(session => {
    const { text, tone } = endWords(session)
    const head = `  ${terminal.paint(tone, text)}${' '.repeat(Math.max(0, states - widthOf(text)))}  ${session.id}  `
    const tail = `  ${ago(now - (session.ended_at ?? now))}`
    const room = Math.min(terminal.width, 100) - widthOf(head)
    const title = firstLine(session.title ?? session.task)
    const withAge = room - widthOf(tail)
    return withAge < 12 ? `${head}${cutAtWord(title, room)}` : `${head}${cutAtWord(title, withAge)}${tail}`
  })
  return [
    terminal.paint('bold', 'Ended'),
    ...rows,
    ...(ended.length > MOST_ROWS ? [`  and ${ended.length - MOST_ROWS} more: pcc report`] : []),
  ]
}

/** A task whose agent is done may still fail its checks, wait for its merge or have been reset. */
function endWords(session: SessionView): ReturnType<typeof statusWords> {
  const { status, task_state: state } = session
  const isOpen = state !== undefined && state !== 'done' && state !== 'cancelled'
  return status === 'completed' && isOpen ? { text: '○ Ended', tone: 'dim' } : statusWords(session)
}

/** What sessions that are not over are doing, in the order of the output. */
const OPEN_STATUSES: Partial<Record<SessionStatus, [one: string, more: string]>> = {
  processing: ['works', 'work'],
  waiting_input: ['waits for you', 'wait for you'],
  rate_limited: ['waits for a limit', 'wait for a limit'],
  paused: ['is paused', 'are paused'],
  idle: ['has not begun', 'have not begun'],
}

function describeCounts(open: SessionView[]): string {
  const counts = Object.entries(OPEN_STATUSES).flatMap(([status, [one, more]]) => {
    const count = open.filter(session => session.status === status).length
    return count === 0 ? [] : [`${count} ${count === 1 ? one : more}`]
  })
  return counts.length === 0 ? '' : `: ${counts.join(', ')}`
}

function nextResumeLine(open: SessionView[], now: number): string[] {
  const times = open.flatMap(({ resumes_at }) => resumes_at ?? []).filter(time => time > now)
  return times.length === 0 ? [] : [`The next session goes on by itself at ${wakeTime(Math.min(...times), now)}.`]
}
