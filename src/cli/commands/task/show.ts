import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dateTime, wakeTime } from '../../../base/clock.ts'
import { neutral } from '../../../base/neutral.ts'
import type { StoredEvent } from '../../../domain/event.ts'
import type { TaskWork } from '../../../domain/merge.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { TaskDetail, TaskMention } from '../../../domain/task-requests.ts'
import { isTaskEvent, taskStepText } from '../../render/task-lines.ts'
import { firstLine, type Terminal, wrap } from '../../render/text.ts'
import { workLines } from '../review.ts'
import { openCommandCall, taskPath, taskRef } from './call.ts'
import { STATE_LOOKS, stateText, stateWord } from './lines.ts'
import { showTasks, type TaskListOptions } from './list.ts'

interface TaskLog {
  task: string
  events: StoredEvent[]
}

const TASK = 'id, or a unique beginning of it'

/** `pcc task list | show | tree | log`. */
export function addShowCommands(task: Command): void {
  task
    .command('list')
    .description('List the tasks of a project, in the order in which they were added')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--all', 'of all projects')
    .option('--feature <name>', 'only of this feature')
    .option('--state <states>', 'only these, comma-separated: open, blocked, ready, running, waiting, done, failed, …')
    .option('--ready', 'only tasks that could begin now')
    .option('--label <word>', 'only with this label')
    .option('--text <words>', 'only with this text in the title or the description')
    .option('--json', 'print JSON, a line for each task')
    .action(async (options: TaskListOptions, command: Command) => {
      const { client, ...context } = await openCommandCall(command, { writes: false })
      await showTasks(options, context, client)
    })

  task
    .command('show')
    .description('Show everything about one task')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, terminal } = await openCommandCall(command, { writes: false })
      const detail = await client.request<TaskDetail>('GET', taskPath(ref))
      const work = await client.request<TaskWork>('GET', `${taskPath(detail.task.id)}/work`)
      show({ ...detail, work }, () => [...taskPage(detail, terminal), ...workLines(work, terminal)])
    })

  task
    .command('tree')
    .description('Draw a task and its parts, or all of a project, indented')
    .argument('[task]', TASK)
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--json', 'print JSON')
    .action(async (ref: string | undefined, { project = '.' }: { project?: string }, command: Command) => {
      const { client, show, terminal } = await openCommandCall(command, { writes: false })
      const query =
        ref === undefined
          ? `project=${encodeURIComponent(resolve(project))}`
          : `under=${encodeURIComponent(taskRef(ref))}`
      const answer = await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query}`)
      show(answer, () => treeLines(answer.tasks, terminal))
    })

  task
    .command('log')
    .description('Show what happened to a task; with -m, add a line')
    .argument('<task>', TASK)
    .option('-m, --message <text>', 'the line to add')
    .option('--json', 'print JSON')
    .action(async (ref: string, { message }: { message?: string }, command: Command) => {
      const { client, show, terminal } = await openCommandCall(command, { writes: message !== undefined })
      const path = `${taskPath(ref)}/log`
      const answer = await (message === undefined
        ? client.request<TaskLog>('GET', path)
        : client.request<TaskLog>('POST', path, { text: message }))
      show(answer, () => logLines(answer.events, terminal))
    })
}

/** A task in full: `pcc task show`. */
function taskPage({ task, parent, blockers, dependents, parts }: TaskDetail, terminal: Terminal): string[] {
  const { paint, width } = terminal
  const text = (body: string) => wrap(neutral(body), Math.min(width, 100) - 2).map(line => `  ${line}`.trimEnd())
  return [
    paint('bold', `${task.id}  ${neutral(task.title)}`),
    `State: ${paint(STATE_LOOKS[task.state].tone, stateText(task))}${task.reason ? `, ${firstLine(task.reason)}` : ''}`,
    ...factLines(task),
    ...(task.description === task.title ? [] : ['', ...text(task.description)]),
    ...section(
      'Done when',
      task.acceptance.map(criterion => `  - ${neutral(criterion)}`),
    ),
    ...(parent ? mentionLines('Part of', [parent], terminal) : []),
    ...(parts.length > 0 ? mentionLines(`Parts (${partsDone(task)})`, parts, terminal) : []),
    ...(blockers.length > 0 ? mentionLines('Comes after', blockers, terminal) : []),
    ...(dependents.length > 0 ? mentionLines('Comes before', dependents, terminal) : []),
    ...section('Result', task.result === null ? [] : text(task.result)),
  ]
}

/** Tasks under a heading. */
export function mentionLines(heading: string, tasks: TaskMention[], { paint }: Terminal): string[] {
  const lines = tasks.map(task => {
    const { glyph, tone } = STATE_LOOKS[task.state]
    return `  ${paint(tone, glyph)} ${task.id} ${neutral(task.title)}: ${task.state}`
  })
  return [`${heading}:${lines.length === 0 ? ' nothing' : ''}`, ...lines]
}

/** One line for each event of a task. */
function logLines(events: StoredEvent[], { paint }: Terminal): string[] {
  return events.map(event => `${paint('dim', dateTime(event.time))}  ${describeEvent(event)}`)
}

function factLines(task: TaskView): string[] {
  const facts: [string, string | number | null][] = [
    ['Project', neutral(task.project)],
    ['Id in its file', task.alias],
    ['Feature', task.feature],
    ['Type', task.type === 'task' ? null : task.type],
    ['Priority', task.priority || null],
    ['Labels', task.labels.join(', ') || null],
    ['Paths', task.paths.map(neutral).join(', ') || null],
    ['Model', task.model && neutral(task.model)],
    [
      'Budget',
      task.budget &&
        Object.entries(task.budget)
          .map(([measure, limit]) => `${limit} ${measure}`)
          .join(', '),
    ],
    ['Attempts', task.attempt ? attemptsText(task) : null],
    ['Session', task.session_id],
    ['Run', task.run_id],
    ['Goes on', task.wakes_at && wakeTime(task.wakes_at, Date.now())],
    ['Added', dateTime(task.created_at)],
    ['Ended', task.ended_at && dateTime(task.ended_at)],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]))
}

/** The last failure counts as a retry too, although no attempt follows it. */
function attemptsText({ attempt, retries, max_retries: most }: TaskView): string {
  if (most !== null) return `${attempt} (${Math.min(retries, most)} of ${most} retries)`
  return retries === 0 ? `${attempt}` : `${attempt} (${retries} failed)`
}

function partsDone({ children, children_done }: TaskView): string {
  return `${children_done} of ${children} done`
}

function section(heading: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`${heading}:`, ...lines]
}

function describeEvent(event: StoredEvent): string {
  if (event.kind === 'task.noted') return neutral(event.body.text).replaceAll('\n', '\n                     ')
  if (isTaskEvent(event)) return `${taskStepText(event)} (${event.actor})`
  if (event.kind === 'merge.landed') {
    const { target, commit } = event.body
    return `reached ${neutral(target)} as ${commit.slice(0, 10)} (${event.actor})`
  }
  if (event.kind === 'worktree.made') {
    const { attempt, branch, restored } = event.body
    const how = restored === undefined ? 'made' : `restored from ${neutral(restored)}`
    return `worktree ${how}: attempt ${attempt}, branch ${neutral(branch)} (${event.actor})`
  }
  if (event.kind === 'worktree.removed') {
    const { attempt, archive, reason } = event.body
    const kept = archive === undefined ? '' : `; ${firstLine(reason ?? '')}, kept in ${neutral(archive)}`
    return `worktree removed: attempt ${attempt}${kept} (${event.actor})`
  }
  const word = event.kind === 'merge.held_up' ? 'merge waits' : event.kind.replace(/^(task|evidence)\./, '')
  const body = event.body as { reason?: string; attempt?: number }
  const details = [
    ...(body.attempt ? [`attempt ${body.attempt}`] : []),
    ...(body.reason ? [firstLine(body.reason)] : []),
  ]
  return `${word}${details.length > 0 ? `: ${details.join(', ')}` : ''} (${event.actor})`
}

/** Tasks with their parts indented below them. A task whose parent is not shown is at the top level. */
function treeLines(tasks: readonly TaskView[], { paint }: Terminal): string[] {
  const ids = new Set(tasks.map(({ id }) => id))
  const parts = Map.groupBy(tasks, ({ parent_id }) => (parent_id !== null && ids.has(parent_id) ? parent_id : ''))
  const lines: string[] = []
  // A loop in place of recursion, because the depth of parts is unlimited.
  const stack = treeRows(parts.get('') ?? [], '', true)
  for (let row = stack.pop(); row; row = stack.pop()) {
    const { task, branch, childPrefix } = row
    const { glyph, tone } = STATE_LOOKS[task.state]
    const progress = task.children > 0 ? ` (${task.children_done}/${task.children})` : ''
    lines.push(
      `${paint('dim', branch)}${paint(tone, glyph)} ${task.id} ${neutral(task.title)}${progress}: ${stateWord(task)}`,
    )
    stack.push(...treeRows(parts.get(task.id) ?? [], childPrefix, false))
  }
  return lines.length > 0 ? lines : ['No tasks here yet.']
}

interface TreeRow {
  task: TaskView
  /** Drawn before the task. */
  branch: string
  /** Drawn before its parts. */
  childPrefix: string
}

/** The rows in reverse order, because the stack is popped from its end. */
function treeRows(tasks: readonly TaskView[], prefix: string, isTopLevel: boolean): TreeRow[] {
  const rows = tasks.map((task, index) => {
    if (isTopLevel) return { task, branch: '', childPrefix: '' }
    const isLast = index === tasks.length - 1
    return { task, branch: `${prefix}${isLast ? '└ ' : '├ '}`, childPrefix: `${prefix}${isLast ? '  ' : '│ '}` }
  })
  return rows.reverse()
}
